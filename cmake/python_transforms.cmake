# Makes the texts of Python files string literals of C++, for src/runtime/python_transforms.cpp.
foreach(name transforms transform_engine)
  set(file ${PROJECT_SOURCE_DIR}/python/blastoff/session/${name}.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/runtime/${name}.inc CONTENT "R\"__python__(@text@)__python__\"\n" @ONLY)
endforeach()
target_include_directories(blastoff_runtime PRIVATE ${PROJECT_BINARY_DIR}/runtime)
