# What the tests of devices need besides their sources.

# Compares the declarations in src/device/cuda/api.h and similar headers with NVIDIA's headers, if these are installed.
find_path(BLASTOFF_CUDA_HEADERS cublas_v2.h
          HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
if(TARGET unit_device AND BLASTOFF_CUDA_HEADERS)
  target_include_directories(unit_device SYSTEM PRIVATE ${BLASTOFF_CUDA_HEADERS})
endif()

# A fake driver, cuBLAS, cuSOLVER, cuFFT, NCCL, cuSOLVERMp and cuBLASMp, with which src/device/cuda runs on machines without a GPU: asynchronously, with pinned memory.
if(TARGET contract_device)
  add_library(fake_cuda_driver SHARED support/fake_cuda/driver.cpp support/fake_cuda/gpu.cpp support/fake_cuda/stream.cpp)
  set_target_properties(fake_cuda_driver PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1)
  add_library(fake_cublas SHARED support/fake_cuda/cublas.cpp)
  set_target_properties(fake_cublas PROPERTIES OUTPUT_NAME cublas SUFFIX .so.13)
  add_library(fake_cusolver SHARED support/fake_cuda/cusolver.cpp)
  set_target_properties(fake_cusolver PROPERTIES OUTPUT_NAME cusolver SUFFIX .so.12)
  add_library(fake_cufft SHARED support/fake_cuda/cufft.cpp)
  set_target_properties(fake_cufft PROPERTIES OUTPUT_NAME cufft SUFFIX .so.12)
  add_library(fake_nccl SHARED support/fake_cuda/nccl.cpp)
  set_target_properties(fake_nccl PROPERTIES OUTPUT_NAME nccl SUFFIX .so.2)
  add_library(fake_cusolvermp SHARED support/fake_cuda/cusolvermp.cpp)
  set_target_properties(fake_cusolvermp PROPERTIES OUTPUT_NAME cusolverMp SUFFIX .so.0)
  add_library(fake_cublasmp SHARED support/fake_cuda/cublasmp.cpp)
  set_target_properties(fake_cublasmp PROPERTIES OUTPUT_NAME cublasmp SUFFIX .so.0)
  foreach(library fake_cuda_driver fake_cublas fake_cusolver fake_cufft fake_nccl fake_cusolvermp fake_cublasmp)
    target_link_libraries(${library} PRIVATE blastoff_device blastoff_blas)
    target_include_directories(${library} PRIVATE support)
    set_target_properties(${library} PROPERTIES CXX_VISIBILITY_PRESET default NO_SONAME ON
                          LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fake_cuda)
    add_dependencies(contract_device ${library})
  endforeach()
  # The function that discovers tests splits lists, so each property has only one variable.
  set(fake_gpu "LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/fake_cuda")
  gtest_discover_tests(contract_device TEST_PREFIX "contract/device on the fake GPU/" TEST_FILTER "*cuda*"
                       TEST_LIST contract_device_fake_gpu DISCOVERY_TIMEOUT 60
                       PROPERTIES ENVIRONMENT ${fake_gpu} ENVIRONMENT_MODIFICATION REQUIRE_GPU=set:1)
  foreach(access pageable coherent unified)
    gtest_discover_tests(contract_device TEST_PREFIX "contract/device on a fake ${access} GPU/" TEST_FILTER "*HostAccess*"
                         TEST_LIST contract_device_fake_${access} DISCOVERY_TIMEOUT 60
                         PROPERTIES ENVIRONMENT ${fake_gpu} ENVIRONMENT_MODIFICATION FAKE_GPU_ACCESS=set:${access})
  endforeach()
endif()
