# blastoff_module(NAME [KNOWS MODULE...]): makes the static library blastoff_NAME from all sources under src/NAME. They may include headers
# of the modules that NAME knows (tools/check/modules compares the includes with these lines).
function(blastoff_module name)
  cmake_parse_arguments(MODULE "" "" "KNOWS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(blastoff_${name} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY blastoff_modules ${name})
  target_link_libraries(blastoff_${name} PUBLIC blastoff_options)
  share_headers(blastoff_${name} module_headers blastoff_options <algorithm> <array> <atomic> <chrono> <complex> <condition_variable> <cstring>
                <functional> <iterator> <list> <map> <memory> <mutex> <optional> <span> <string> <string_view> <type_traits> <unordered_map>
                <utility> <vector> <fmt/format.h> <tl/expected.hpp>)
  foreach(known IN LISTS MODULE_KNOWS)
    if(TARGET blastoff_${known})
      target_link_libraries(blastoff_${name} PUBLIC blastoff_${known})
    endif()
  endforeach()
endfunction()
