# The build id (tools/build-id) of the library, of the command, and of an installed Python package. It is asked for at every build. Only where it
# has changed are the library and the command linked anew; nothing else depends on it.
set(build_id ${PROJECT_BINARY_DIR}/build_id)
add_custom_target(
  blastoff_ask_build_id
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${build_id} -P ${PROJECT_SOURCE_DIR}/cmake/write_build_id.cmake
  BYPRODUCTS ${build_id}/build_id.cpp ${build_id}/build-id.txt
  VERBATIM)

# blastoff_has_build_id(TARGET): links the id into a target, as blastoff_build_id.
function(blastoff_has_build_id target)
  target_sources(${target} PRIVATE ${build_id}/build_id.cpp)
  add_dependencies(${target} blastoff_ask_build_id)
endfunction()
