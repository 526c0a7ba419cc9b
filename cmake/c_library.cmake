# Compile options for targets that take only listed names from the C library: some compilers (Ubuntu's) protect stacks and check buffers by
# default, for which they call other functions.
set(blastoff_plain_calls -fno-stack-protector -U_FORTIFY_SOURCE)

# blastoff_links_without_versions(TARGET LIBRARY file FUNCTIONS name... [DATA name...]): links a target so that it takes these names from a part
# of the C library (libc.so.6, libdl.so.2) without recording versions of symbols. At run time the target gets glibc's first version of each, or
# the function of another C library. So only names that have not changed since the first version may be listed. For the link, an empty library
# without versions replaces that part of the C library.
function(blastoff_links_without_versions target)
  cmake_parse_arguments(FROM "" "LIBRARY" "FUNCTIONS;DATA" ${ARGN})
  set(source "")
  foreach(name IN LISTS FROM_FUNCTIONS)
    string(APPEND source "void ${name}(void) {}\n")
  endforeach()
  foreach(name IN LISTS FROM_DATA)
    string(APPEND source "void* ${name} = 0;\n")
  endforeach()
  set(directory ${PROJECT_BINARY_DIR}/c_library/${target})
  set(stand_in ${target}-${FROM_LIBRARY})
  file(CONFIGURE OUTPUT ${directory}/${FROM_LIBRARY}.c CONTENT "${source}" @ONLY)
  add_library(${stand_in} SHARED ${directory}/${FROM_LIBRARY}.c)
  set_target_properties(${stand_in} PROPERTIES PREFIX "" OUTPUT_NAME ${FROM_LIBRARY} SUFFIX "" C_VISIBILITY_PRESET default
                                               LIBRARY_OUTPUT_DIRECTORY ${directory})
  target_compile_options(${stand_in} PRIVATE -w -fno-builtin -fno-stack-protector)
  target_link_options(${stand_in} PRIVATE -nostdlib)
  # Named by its path, so that no folder is added to the target's search path at run time.
  add_dependencies(${target} ${stand_in})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${directory}/${FROM_LIBRARY})
  target_link_options(${target} PRIVATE -nodefaultlibs -Wl,--no-as-needed,${directory}/${FROM_LIBRARY},--as-needed)
endfunction()
