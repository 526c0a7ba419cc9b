# Makes the text of a Python file a string literal of C++, for src/runtime/python_transforms.cpp.
set(transforms ${PROJECT_SOURCE_DIR}/python/blastoff/session/transforms.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${transforms})
file(READ ${transforms} text)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/runtime/python_transforms.inc CONTENT "R\"__python__(@text@)__python__\"\n" @ONLY)
target_include_directories(blastoff_runtime PRIVATE ${PROJECT_BINARY_DIR}/runtime)
