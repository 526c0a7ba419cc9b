# Compiles the installed Python package at the end of an installation. Otherwise Python would compile it at each start, because users cannot
# write there.
#
#   package: the folder where it was installed, under DESTDIR. Sets compiled, a list of files without DESTDIR.
#
# The command uses the first Python that is new enough (src/launcher/installation.cpp), and users may have another one than this machine has. So the
# package is compiled for each version. Compiled files are checked by a hash of the source and not by its time, since copies may change times.
cmake_minimum_required(VERSION 3.22)
set(compiled_for)
foreach(python python3 python3.14 python3.13 python3.12 python3.11 python3.10 /usr/bin/python3)
  execute_process(
    COMMAND ${python} -S -c "import sys; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 10))"
    RESULT_VARIABLE failed
    OUTPUT_VARIABLE version
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(failed OR "${version}" IN_LIST compiled_for)
    continue()
  endif()
  set(origin)
  if(NOT "$ENV{DESTDIR}" STREQUAL "")
    set(origin -s "$ENV{DESTDIR}" -p /)
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=PYTHONPYCACHEPREFIX ${python} -m compileall -q --invalidation-mode checked-hash ${origin} "${package}"
    RESULT_VARIABLE failed
    OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    list(APPEND compiled_for "${version}")
  endif()
endforeach()
if(compiled_for)
  list(JOIN compiled_for ", " versions)
  message(STATUS "Compiled for Python ${versions}: ${package}")
else()
  message(STATUS "Not compiled, no Python 3.10 or newer here: ${package}")
endif()
file(GLOB_RECURSE compiled "${package}/*.pyc")
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  string(REPLACE "$ENV{DESTDIR}" "" compiled "${compiled}")
endif()
