# Manual pages and completions, which the command makes from the library's option table
# (python/blastoff/manual). This needs a Python that can load the library, so they are not made for another processor or with a sanitizer.
find_package(Python3 3.10 COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND OR CMAKE_CROSSCOMPILING OR BLASTOFF_SANITIZE)
  message(STATUS "Blastoff: no manual pages and completions (they need Python 3.10 or newer that runs here; Debian, Ubuntu: python3)")
  return()
endif()

set(manual ${PROJECT_BINARY_DIR}/manual)
set(manual_stamp ${manual}/.made)
file(GLOB manual_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/blastoff/*.py ${PROJECT_SOURCE_DIR}/python/blastoff/*/*.py)
add_custom_command(
  OUTPUT ${manual_stamp}
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/python PYTHONDONTWRITEBYTECODE=1 BLASTOFF_LIBRARY=$<TARGET_FILE:blastoff>
          ${Python3_EXECUTABLE} -m blastoff.manual ${manual}
  COMMAND ${CMAKE_COMMAND} -E touch ${manual_stamp}
  DEPENDS blastoff ${manual_sources}
  VERBATIM)
add_custom_target(blastoff-manual ALL DEPENDS ${manual_stamp})

# Optional, because they do not exist if only the target blastoff was built.
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
install(DIRECTORY ${manual}/bash-completion ${manual}/zsh ${manual}/fish DESTINATION ${CMAKE_INSTALL_DATADIR} OPTIONAL)
