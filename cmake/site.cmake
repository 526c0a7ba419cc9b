# Files that a site installs beside the library: the command, modulefiles, schemas, licences.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/blastoff DESTINATION ${CMAKE_INSTALL_LIBDIR}/blastoff/python PATTERN __pycache__ EXCLUDE PATTERN "*.pyc" EXCLUDE)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(installed_package "${CMAKE_INSTALL_LIBDIR}/blastoff/python")
else()
  set(installed_package "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/blastoff/python")
endif()
install(CODE "set(package \"\$ENV{DESTDIR}${installed_package}\")
include(${PROJECT_SOURCE_DIR}/cmake/compile_python.cmake)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES \${compiled})")

file(GLOB schemas ${PROJECT_SOURCE_DIR}/share/*.schema.json)
foreach(place ${CMAKE_INSTALL_LIBDIR}/blastoff/python/blastoff ${CMAKE_INSTALL_DATADIR}/blastoff)
  install(FILES ${schemas} DESTINATION ${place})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/machines ${PROJECT_SOURCE_DIR}/share/jobs DESTINATION ${place})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES ${PROJECT_SOURCE_DIR}/CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png")

# The prefix is known only at installation, since cmake --install --prefix may choose another one.
file(RELATIVE_PATH prefix_from_module ${CMAKE_INSTALL_FULL_DATADIR}/modulefiles/blastoff ${CMAKE_INSTALL_PREFIX})
foreach(name blastoff blastoff-preload blastoff-sample)
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
