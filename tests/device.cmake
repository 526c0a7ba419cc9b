# What the tests of devices need besides their sources.

# Compares the declarations in src/device/gpu/cuda/api.h and similar headers with NVIDIA's headers, if these are installed.
find_path(BLASTOFF_CUDA_HEADERS cublas_v2.h
          HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
if(TARGET unit_device AND BLASTOFF_CUDA_HEADERS)
  target_include_directories(unit_device SYSTEM PRIVATE ${BLASTOFF_CUDA_HEADERS})
endif()

# A fake driver, cuBLAS, cuSOLVER, cuFFT, NCCL, cuSOLVERMp and cuBLASMp, with which src/device/gpu runs on machines without a GPU: asynchronously, with pinned memory.
# A fake HIP driver shows that another driver can fill the table of src/device/gpu/driver.h.
if(TARGET contract_device)
  # lib<name>.so.<version> from these sources in support/fake_cuda/.
  function(fake_library name version)
    list(TRANSFORM ARGN PREPEND support/fake_cuda/ OUTPUT_VARIABLE sources)
    add_library(fake_${name} SHARED ${sources})
    target_link_libraries(fake_${name} PRIVATE blastoff_device reference_blas)
    set_target_properties(fake_${name} PROPERTIES OUTPUT_NAME ${name} SUFFIX .so.${version} CXX_VISIBILITY_PRESET default NO_SONAME ON
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_cuda)
    add_dependencies(contract_device fake_${name})
  endfunction()
  fake_library(cuda 1 driver.cpp gpu.cpp kernels.cpp stream.cpp)
  fake_library(amdhip64 7 ../fake_hip/driver.cpp driver.cpp gpu.cpp kernels.cpp stream.cpp)
  # As on the GPU, the kernels add and multiply in two steps. They have pragmas for NVIDIA's compiler.
  set_source_files_properties(support/fake_cuda/kernels.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off;-Wno-unknown-pragmas")
  target_sources(contract_device PRIVATE support/fake_hip/hip_device.cpp)
  fake_library(cublas 13 cublas.cpp)
  fake_library(cusolver 12 cusolver.cpp)
  fake_library(cufft 12 cufft.cpp)
  fake_library(nccl 2 nccl.cpp)
  fake_library(cusolverMp 0 cusolvermp.cpp)
  fake_library(cublasmp 0 cublasmp.cpp)
  # The function that discovers tests splits lists, so each property has only one variable.
  set(fake_gpu "LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/fake_cuda")
  gtest_discover_tests(contract_device TEST_PREFIX "contract/device on the fake GPU/" TEST_FILTER "*cuda*:*hip*"
                       TEST_LIST contract_device_fake_gpu DISCOVERY_TIMEOUT 60
                       PROPERTIES ENVIRONMENT ${fake_gpu} ENVIRONMENT_MODIFICATION REQUIRE_GPU=set:1)
  foreach(access pageable coherent unified)
    gtest_discover_tests(contract_device TEST_PREFIX "contract/device on a fake ${access} GPU/" TEST_FILTER "*HostAccess*"
                         TEST_LIST contract_device_fake_${access} DISCOVERY_TIMEOUT 60
                         PROPERTIES ENVIRONMENT ${fake_gpu} ENVIRONMENT_MODIFICATION FAKE_GPU_ACCESS=set:${access})
  endforeach()
endif()
