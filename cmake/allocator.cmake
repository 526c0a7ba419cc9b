# libblastoff-allocator.so: the allocation interposer (docs/placement.md). It is a separate library, which is loaded only if malloc must
# place memory. It depends only on the C library, and works with any.

# The exported functions stay out of the module's archive: a test that linked the archive would get its malloc from there.
get_target_property(allocator_sources blastoff_allocator SOURCES)
list(FILTER allocator_sources EXCLUDE REGEX "/src/allocator/exports/")
set_property(TARGET blastoff_allocator PROPERTY SOURCES ${allocator_sources})
# From other modules, only these files, which do not allocate.
target_sources(blastoff_allocator PRIVATE ${PROJECT_SOURCE_DIR}/src/platform/log.cpp ${PROJECT_SOURCE_DIR}/src/platform/printable.cpp)
file(GLOB allocator_exports CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/allocator/exports/*.cpp)

# Exported functions that are newer on this processor than the C library's first version (library.cmake) have a later version.
set(BLASTOFF_SINCE_THE_FIRST_VERSION "")
set(BLASTOFF_SINCE_LATER_VERSIONS "GLIBC_2.16 { global: aligned_alloc; };")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(BLASTOFF_SINCE_THE_FIRST_VERSION "aligned_alloc;")
  set(BLASTOFF_SINCE_LATER_VERSIONS "")
endif()
set(allocator_version_script ${PROJECT_BINARY_DIR}/blastoff-allocator.map)
configure_file(${PROJECT_SOURCE_DIR}/src/allocator/exports/exported_names.in ${allocator_version_script} @ONLY)

# A sanitizer has its own allocator, so this library is not built for sanitizers.
if(NOT BLASTOFF_SANITIZE)
  add_library(blastoff-allocator SHARED ${allocator_exports} $<TARGET_OBJECTS:blastoff_allocator>)
  target_link_libraries(blastoff-allocator PRIVATE blastoff_options)
  # The compiler's assumptions about malloc do not hold in the code that implements malloc.
  foreach(target blastoff_allocator blastoff-allocator)
    target_compile_options(${target} PRIVATE -fno-builtin -fno-exceptions -fno-rtti ${blastoff_plain_calls})
    target_compile_definitions(${target} PRIVATE BLASTOFF_C_LIBRARY_VERSION="${BLASTOFF_C_LIBRARY_VERSION}")
  endforeach()
  set_target_properties(blastoff_allocator PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # they are compiled with exceptions
  set_target_properties(blastoff-allocator PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${allocator_version_script}
                                                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_options(blastoff-allocator PRIVATE -Wl,--version-script=${allocator_version_script} -Wl,--exclude-libs,ALL
                      -Wl,-z,relro,-z,now,-z,defs -Wl,--gc-sections)
  # It is preloaded in the same programs as libblastoff.so, and its functions are needed before any symbol could be looked up. So it uses
  # functions that have been in the C library from the first version, and refers weakly to functions that only glibc has (early.h, next.cpp).
  # Before glibc 2.34, dlsym() was in libdl.so.2, which still exists.
  blastoff_links_without_versions(
    blastoff-allocator LIBRARY libc.so.6
    FUNCTIONS __errno_location close getauxval getpagesize memchr memcmp memcpy memmove memset open pthread_setcancelstate read secure_getenv strerror
              strlen strrchr strstr syscall vsnprintf write)
  blastoff_links_without_versions(blastoff-allocator LIBRARY libdl.so.2 FUNCTIONS dladdr dlsym)
  target_link_libraries(blastoff-allocator PRIVATE -Wl,-Bstatic -lgcc -Wl,-Bdynamic)
  add_dependencies(blastoff blastoff-allocator)
  install(TARGETS blastoff-allocator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
