# What `pip install .` (scikit-build-core) puts beside the Python files: the libraries and the report's schema.
if(SKBUILD)
  install(TARGETS blastoff blastoff-allocator LIBRARY DESTINATION blastoff/lib COMPONENT wheel)
  install(FILES ${PROJECT_SOURCE_DIR}/share/report.schema.json DESTINATION blastoff COMPONENT wheel)
endif()
