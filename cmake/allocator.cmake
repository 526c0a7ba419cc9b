# libblastoff-allocator.so: the allocation interposer (docs/placement.md). A library of its own, since a process whose malloc is
# not asked to place anything is better off without it. Depends on the C library alone, whichever that is.

# What it exports stays out of the module's archive: a test that linked that would get its malloc from there.
get_target_property(allocator_sources blastoff_allocator SOURCES)
list(FILTER allocator_sources EXCLUDE REGEX "/src/allocator/exports/")
set_property(TARGET blastoff_allocator PROPERTY SOURCES ${allocator_sources})
# Of the other modules' code only these, which do not allocate.
target_sources(blastoff_allocator PRIVATE ${PROJECT_SOURCE_DIR}/src/platform/log.cpp ${PROJECT_SOURCE_DIR}/src/platform/printable.cpp)
file(GLOB allocator_exports CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/allocator/exports/*.cpp)

# Those that came to this processor later than the C library's first version (library.cmake) carry another one.
set(BLASTOFF_SINCE_THE_FIRST_VERSION "")
set(BLASTOFF_SINCE_LATER_VERSIONS "GLIBC_2.16 { global: aligned_alloc; };")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(BLASTOFF_SINCE_THE_FIRST_VERSION "aligned_alloc;")
  set(BLASTOFF_SINCE_LATER_VERSIONS "")
endif()
set(allocator_version_script ${PROJECT_BINARY_DIR}/blastoff-allocator.map)
configure_file(${PROJECT_SOURCE_DIR}/src/allocator/exports/exported_names.in ${allocator_version_script} @ONLY)

# Under a sanitizer, whose allocator wins, there is nothing for it to do.
if(NOT BLASTOFF_SANITIZE)
  add_library(blastoff-allocator SHARED ${allocator_exports} $<TARGET_OBJECTS:blastoff_allocator>)
  target_link_libraries(blastoff-allocator PRIVATE blastoff_options)
  # What a compiler knows of malloc does not hold where malloc is made.
  foreach(target blastoff_allocator blastoff-allocator)
    target_compile_options(${target} PRIVATE -fno-builtin -fno-exceptions -fno-rtti)
    target_compile_definitions(${target} PRIVATE BLASTOFF_C_LIBRARY_VERSION="${BLASTOFF_C_LIBRARY_VERSION}")
  endforeach()
  set_target_properties(blastoff-allocator PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${allocator_version_script}
                                                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_options(blastoff-allocator PRIVATE -Wl,--version-script=${allocator_version_script} -Wl,--exclude-libs,ALL
                      -Wl,-z,relro,-z,now,-z,defs -Wl,--gc-sections)
  # It is preloaded where the other library is, and its functions are needed before anything could be looked up. So it takes what has been
  # in the C library from the first, and refers weakly to what only glibc has (early.h, next.cpp). Before glibc 2.34, dlsym() lay in libdl.so.2,
  # which is still there.
  blastoff_links_without_versions(
    blastoff-allocator LIBRARY libc.so.6
    FUNCTIONS __errno_location close getauxval getpagesize memchr memcmp memcpy memmove memset open pthread_setcancelstate read secure_getenv strerror
              strlen strrchr strstr syscall vsnprintf write)
  blastoff_links_without_versions(blastoff-allocator LIBRARY libdl.so.2 FUNCTIONS dladdr dlsym)
  target_link_libraries(blastoff-allocator PRIVATE -Wl,-Bstatic -lgcc -Wl,-Bdynamic)
  add_dependencies(blastoff blastoff-allocator)
  install(TARGETS blastoff-allocator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
