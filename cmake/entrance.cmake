# libblastoff.so with its entrance (src/entrance/entrance.h): an object that any C library can load. It is linked twice. The first link,
# an ordinary one, tells what the library exports and what it takes from the C library. From these lists its gates and slots are made.
# The second link knows no C library, so that it records no version of a symbol.
set(entrance ${PROJECT_BINARY_DIR}/entrance)

# GNU ld inserts entrance.ld among its own sections; others do not (lld 14 was tried), or take no such script.
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

# src/entrance itself refers to the C library's own, in all other objects these are slots too.
set(bare dlsym __errno_location)
add_custom_command(
  OUTPUT ${entrance}/gates.list ${entrance}/imports.list ${entrance}/renamed
  COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:blastoff_plain> -DREADELF=${CMAKE_READELF} "-DBARE=${bare}" -DOUT=${entrance}
          -P ${PROJECT_SOURCE_DIR}/cmake/entrance_lists.cmake
  DEPENDS blastoff_plain ${PROJECT_SOURCE_DIR}/cmake/entrance_lists.cmake
  VERBATIM)

# The functions behind the gates lose their names to these, which needs machine code: what was compiled for link-time optimization is
# optimized here.
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

# What is part of each program, by the C library that this is built on.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libc_nonshared.a OUTPUT_VARIABLE part_of_each_program OUTPUT_STRIP_TRAILING_WHITESPACE)

file(GLOB entrance_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/entrance/*.cpp)
list(FILTER entrance_sources EXCLUDE REGEX later_functions)
add_library(blastoff SHARED ${entrance_sources} ${PROJECT_SOURCE_DIR}/src/entrance/gates.S ${entrance}/library.o
                            $<TARGET_OBJECTS:blastoff_later_functions>)
set_source_files_properties(${entrance}/library.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/entrance/gates.S PROPERTIES OBJECT_DEPENDS "${entrance}/gates.list;${entrance}/imports.list;${PROJECT_SOURCE_DIR}/src/entrance/gates_x86_64.inc;${PROJECT_SOURCE_DIR}/src/entrance/gates_aarch64.inc")
target_include_directories(blastoff PRIVATE ${entrance})
# Optimized no further, so that no loop becomes a call of the C library.
target_compile_options(
  blastoff PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1;-ffreestanding;-fno-exceptions;-fno-rtti;-fno-threadsafe-statics;-fno-stack-protector;-fno-lto>)
blastoff_links_as_library(blastoff)
set_property(TARGET blastoff APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/entrance.ld)
target_link_options(blastoff PRIVATE ${gnu_ld} -Wl,-T,${PROJECT_SOURCE_DIR}/cmake/entrance.ld)
foreach(function IN LISTS bare)
  target_link_options(blastoff PRIVATE -Wl,--wrap=${function})
endforeach()
# What cannot be called through a slot: data, and what the compiler refers to by itself. musl has it too.
blastoff_links_without_versions(
  blastoff LIBRARY libc.so.6
  FUNCTIONS __tls_get_addr
  DATA stdin stdout stderr environ __environ __progname __progname_full program_invocation_name program_invocation_short_name __stack_chk_guard)
target_link_libraries(blastoff PRIVATE -Wl,-Bstatic -lstdc++ -lgcc_eh -lgcc ${part_of_each_program} -Wl,-Bdynamic)
