# libblastoff.so with its entrance (src/entrance/entrance.h): a library that any C library can load. It is linked twice. The first link is an
# ordinary one. It shows what the library exports and what it takes from the C library, and gates and slots are made from these lists. The
# second link does without the C library, so that it records no versions of symbols.
set(entrance ${PROJECT_BINARY_DIR}/entrance)

# GNU ld inserts entrance.ld among its own sections. Other linkers do not (lld 14 was tried), or do not accept such a script.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=bfd BLASTOFF_CAN_CHOOSE_GNU_LD)
set(gnu_ld "")
if(BLASTOFF_CAN_CHOOSE_GNU_LD)
  set(gnu_ld -fuse-ld=bfd)
endif()

add_library(blastoff_later_functions OBJECT ${PROJECT_SOURCE_DIR}/src/entrance/later_functions.cpp)
target_link_libraries(blastoff_later_functions PRIVATE blastoff_options)
target_compile_options(blastoff_later_functions PRIVATE -fno-lto)

add_library(blastoff_plain SHARED ${blastoff_objects} $<TARGET_OBJECTS:blastoff_later_functions>)
blastoff_links_as_library(blastoff_plain)
set_target_properties(blastoff_plain PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${entrance}/plain)
target_link_options(blastoff_plain PRIVATE -Wl,-u,blastoff_later_functions)
# The first link drops what nobody calls: on aarch64, the code that reads x86-64's, which alone takes this function. The second link keeps it.
target_link_options(blastoff_plain PRIVATE -Wl,-u,memrchr)

# src/entrance refers to the C library's own functions of these names. In all other objects, they are slots too.
set(bare dlsym __errno_location)
add_custom_command(
  OUTPUT ${entrance}/gates.list ${entrance}/imports.list ${entrance}/renamed
  COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:blastoff_plain> -DREADELF=${CMAKE_READELF} "-DBARE=${bare}" -DOUT=${entrance}
          -P ${PROJECT_SOURCE_DIR}/cmake/entrance_lists.cmake
  DEPENDS blastoff_plain ${PROJECT_SOURCE_DIR}/cmake/entrance_lists.cmake
  VERBATIM)

# The gates take the names of the functions behind them, so those functions are renamed. That needs machine code, so objects for link-time
# optimization are optimized here.
set(as_machine_code "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(as_machine_code -flinker-output=nolto-rel)
endif()
file(GENERATE OUTPUT ${entrance}/objects CONTENT "$<JOIN:${blastoff_objects},\n>\n")
add_custom_command(
  OUTPUT ${entrance}/library.o
  COMMAND ${CMAKE_CXX_COMPILER} ${gnu_ld} -r -nostdlib ${as_machine_code} -o ${entrance}/joined.o @${entrance}/objects
  COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${entrance}/renamed ${entrance}/joined.o ${entrance}/library.o
  COMMAND ${CMAKE_COMMAND} -E rm ${entrance}/joined.o
  DEPENDS blastoff_plain ${entrance}/renamed ${entrance}/objects
  VERBATIM)

# The archive of the C library that is linked into each program, on the machine where this is built.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libc_nonshared.a OUTPUT_VARIABLE part_of_each_program OUTPUT_STRIP_TRAILING_WHITESPACE)

file(GLOB entrance_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/entrance/*.cpp)
list(FILTER entrance_sources EXCLUDE REGEX later_functions)
add_library(blastoff SHARED ${entrance_sources} ${PROJECT_SOURCE_DIR}/src/entrance/gates.S ${entrance}/library.o
                            $<TARGET_OBJECTS:blastoff_later_functions>)
set_source_files_properties(${entrance}/library.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/entrance/gates.S PROPERTIES OBJECT_DEPENDS "${entrance}/gates.list;${entrance}/imports.list;${PROJECT_SOURCE_DIR}/src/entrance/gates_x86_64.inc;${PROJECT_SOURCE_DIR}/src/entrance/gates_aarch64.inc")
target_include_directories(blastoff PRIVATE ${entrance})
# Not optimized further than -O1, so that no loop becomes a call of the C library.
target_compile_options(
  blastoff PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1;-ffreestanding;-fno-exceptions;-fno-rtti;-fno-threadsafe-statics;-fno-stack-protector;-fno-lto>)
blastoff_links_as_library(blastoff)
set_property(TARGET blastoff APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/entrance.ld)
target_link_options(blastoff PRIVATE ${gnu_ld} -Wl,-T,${PROJECT_SOURCE_DIR}/cmake/entrance.ld)
foreach(function IN LISTS bare)
  target_link_options(blastoff PRIVATE -Wl,--wrap=${function})
endforeach()
# Names that cannot be reached through a slot: data, and functions that the compiler itself refers to. musl has them too.
blastoff_links_without_versions(
  blastoff LIBRARY libc.so.6
  FUNCTIONS __tls_get_addr
  DATA stdin stdout stderr environ __environ __progname __progname_full program_invocation_name program_invocation_short_name __stack_chk_guard)
target_link_libraries(blastoff PRIVATE -Wl,-Bstatic -lstdc++ -lgcc_eh -lgcc ${part_of_each_program} -Wl,-Bdynamic)
