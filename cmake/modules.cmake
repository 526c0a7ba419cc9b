# blastoff_module(NAME [KNOWS MODULE...]): the static library blastoff_NAME of all sources under src/NAME, which may include headers
# of the modules that it knows (tools/check/modules holds the includes against these lines).
function(blastoff_module name)
  cmake_parse_arguments(MODULE "" "" "KNOWS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(blastoff_${name} STATIC ${sources})
  target_link_libraries(blastoff_${name} PUBLIC blastoff_options)
  # Clang's -Wconversion warns of signs too.
  target_compile_options(blastoff_${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wshadow;-Wconversion>")
  foreach(known IN LISTS MODULE_KNOWS)
    if(TARGET blastoff_${known})
      target_link_libraries(blastoff_${name} PUBLIC blastoff_${known})
    endif()
  endforeach()
endfunction()
