# Installs the files that `pip install .` (scikit-build-core) puts beside the Python files: libraries, schemas, machine models, published jobs and pages of the documentation;
# and manual pages and completions into the Python environment. Only files of the component `wheel` are installed. In install(TARGETS), each
# COMPONENT applies only to the kind of file before it.
if(NOT SKBUILD)
  return()
endif()
install(TARGETS blastoff blastoff-allocator blastoff-command
        LIBRARY DESTINATION blastoff/lib COMPONENT wheel
        RUNTIME DESTINATION blastoff/lib COMPONENT wheel)
install(PROGRAMS $<TARGET_FILE:blastoff-command> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
file(GLOB schemas ${PROJECT_SOURCE_DIR}/share/*.schema.json)
install(FILES ${schemas} ${build_id}/build-id.txt DESTINATION blastoff COMPONENT wheel)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/share/machines ${PROJECT_SOURCE_DIR}/share/jobs DESTINATION blastoff COMPONENT wheel)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION blastoff/docs COMPONENT wheel FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
if(TARGET blastoff-manual)
  install(DIRECTORY ${manual}/man ${manual}/bash-completion ${manual}/zsh ${manual}/fish DESTINATION ${SKBUILD_DATA_DIR}/share COMPONENT wheel)
endif()
