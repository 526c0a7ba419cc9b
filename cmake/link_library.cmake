# lib/blastoff/libblastoff.so: the library that programs are linked with. It has the name of the real library and its functions of include/,
# but no BLAS names. So the linker takes BLAS names from a BLAS, whatever the order, and does not drop that BLAS as unneeded. At run time
# the program loads the real library.
set(link_library_source ${PROJECT_BINARY_DIR}/link/blastoff.c)
set(source "")
set(functions "")
foreach(name blastoff blastoff_blocks)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/${name}.h)
  file(READ ${PROJECT_SOURCE_DIR}/include/${name}.h header)
  string(REGEX REPLACE "/\\*([^*]|\\*[^/])*\\*/" "" header "${header}")
  string(REGEX MATCHALL "blastoff_[a-z_]+\\(" declared "${header}")
  list(APPEND functions ${declared})
endforeach()
foreach(function IN LISTS functions)
  string(APPEND source "__attribute__((visibility(\"default\"))) void ${function}void) {}\n")
endforeach()
file(CONFIGURE OUTPUT ${link_library_source} CONTENT "${source}" @ONLY)

add_library(blastoff-link SHARED ${link_library_source})
set_target_properties(blastoff-link PROPERTIES OUTPUT_NAME blastoff LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/link)
target_compile_options(blastoff-link PRIVATE -Wno-missing-prototypes -fno-builtin)
target_link_options(blastoff-link PRIVATE -nostdlib)
add_dependencies(blastoff blastoff-link)
install(TARGETS blastoff-link LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/blastoff)
