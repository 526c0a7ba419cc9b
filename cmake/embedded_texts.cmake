# Files whose texts the library holds, as string literals of C++.

# text_literal(VARIABLE FILE)
function(text_literal variable file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(${variable} "R\"__text__(${text})__text__\"" PARENT_SCOPE)
endfunction()

# The Python files of src/runtime/python_transforms.cpp.
foreach(name transforms transform_engine)
  text_literal(literal ${PROJECT_SOURCE_DIR}/python/blastoff/session/${name}.py)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/runtime/${name}.inc CONTENT "@literal@\n" @ONLY)
endforeach()
target_include_directories(blastoff_runtime PRIVATE ${PROJECT_BINARY_DIR}/runtime)

# The members of src/device/gpu/cuda/kernels/kernels.cpp.
file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/gpu/cuda/kernels/*.ptx)
set(members)
foreach(kernel IN LISTS kernels)
  cmake_path(GET kernel STEM name)
  text_literal(literal ${kernel})
  string(APPEND members ".${name} = ${literal},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/device/kernels.inc CONTENT "@members@" @ONLY)
target_include_directories(blastoff_device PRIVATE ${PROJECT_BINARY_DIR}/device)
