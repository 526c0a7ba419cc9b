# What a site installs beside the library: the command, modulefiles, schemas, licences.
file(RELATIVE_PATH BLASTOFF_LIBDIR_FROM_BINDIR ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
configure_file(${PROJECT_SOURCE_DIR}/share/command/blastoff.in ${PROJECT_BINARY_DIR}/command/blastoff @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/command/blastoff DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/share/command/__main__.py DESTINATION ${CMAKE_INSTALL_LIBDIR}/blastoff/python)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/blastoff DESTINATION ${CMAKE_INSTALL_LIBDIR}/blastoff/python PATTERN __pycache__ EXCLUDE PATTERN "*.pyc" EXCLUDE)
# Users cannot write there, and would compile the package at each start.
install(
  CODE "set(package \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/blastoff/python\")
execute_process(COMMAND python3 -m compileall -q -s \"\$ENV{DESTDIR}\" \"\${package}\" RESULT_VARIABLE compiled OUTPUT_QUIET ERROR_QUIET)
file(GLOB_RECURSE compiled \"\${package}/*.pyc\")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${compiled})")

file(GLOB schemas ${PROJECT_SOURCE_DIR}/share/*.schema.json)
foreach(place ${CMAKE_INSTALL_LIBDIR}/blastoff/python/blastoff ${CMAKE_INSTALL_DATADIR}/blastoff)
  install(FILES ${schemas} DESTINATION ${place})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/machines ${PROJECT_SOURCE_DIR}/share/jobs DESTINATION ${place})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The prefix is known when it is installed: cmake --install --prefix may choose another one.
file(RELATIVE_PATH prefix_from_module ${CMAKE_INSTALL_FULL_DATADIR}/modulefiles/blastoff ${CMAKE_INSTALL_PREFIX})
foreach(name blastoff blastoff-preload)
  set(installed "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/modulefiles/${name}/${PROJECT_VERSION}")
  install(
    CODE "set(PROJECT_VERSION ${PROJECT_VERSION})
set(BLASTOFF_PREFIX_FROM_MODULE ${prefix_from_module})
set(BLASTOFF_BINDIR ${CMAKE_INSTALL_BINDIR})
set(BLASTOFF_LIBDIR ${CMAKE_INSTALL_LIBDIR})
set(BLASTOFF_MANDIR ${CMAKE_INSTALL_MANDIR})
message(STATUS \"Installing: \$ENV{DESTDIR}${installed}\")
configure_file(${PROJECT_SOURCE_DIR}/share/modulefiles/${name}.in \"\$ENV{DESTDIR}${installed}\" @ONLY)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"${installed}\")")
endforeach()
