# blastoff: the command (src/launcher). It does `blastoff run` itself, and starts Python for everything else. It starts quickest, and runs with
# any C library, if it is linked statically. Without a static C library (as on Fedora, where glibc-static has it), it is linked as usual.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -static)
check_cxx_source_compiles("#include <string>\nint main(int count, char** words) { return std::string(words[0]).size() < count; }"
                          BLASTOFF_CAN_LINK_STATICALLY)
unset(CMAKE_REQUIRED_LINK_OPTIONS)

# The archive is for tests, too, which have a main() of their own.
get_target_property(launcher_sources blastoff_launcher SOURCES)
list(FILTER launcher_sources EXCLUDE REGEX "/main.cpp$")
set_property(TARGET blastoff_launcher PROPERTY SOURCES ${launcher_sources})
add_executable(blastoff-command ${PROJECT_SOURCE_DIR}/src/launcher/main.cpp)
target_link_libraries(blastoff-command PRIVATE blastoff_launcher)
blastoff_has_build_id(blastoff-command)
set_target_properties(blastoff-command PROPERTIES OUTPUT_NAME blastoff RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT BLASTOFF_SANITIZE)
  target_link_options(blastoff-command PRIVATE -Wl,--gc-sections,-s)
  if(BLASTOFF_CAN_LINK_STATICALLY)
    target_link_options(blastoff-command PRIVATE -static)
  else()
    target_link_options(blastoff-command PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endif()
add_dependencies(blastoff blastoff-command)
install(TARGETS blastoff-command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# An installation may be moved as a whole.
file(RELATIVE_PATH libraries_from_command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
target_compile_definitions(blastoff_launcher PRIVATE BLASTOFF_LIBDIR_FROM_BINDIR="${libraries_from_command}")
