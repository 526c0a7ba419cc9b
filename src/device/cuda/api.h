// The part of NVIDIA's driver API and of cuBLAS that is used here, declared so that building needs no CUDA toolkit.
//
// Names are NVIDIA's own with their ABI version; values and layouts are those of CUDA 12 and 13, which do not differ in
// them. tests/unit/device/cuda_api_test.cpp holds every line against the real headers where these exist.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blastoff::device::cuda::api {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
using CUcontext = struct ContextHandle*;
using CUstream = struct StreamHandle*;
using CUevent = struct EventHandle*;
using CUmodule = struct ModuleHandle*;
using CUfunction = struct FunctionHandle*;

constexpr CUresult success = 0;
constexpr CUresult error_out_of_memory = 2;
constexpr CUresult error_stub_library = 34;
constexpr CUresult error_no_device = 100;
constexpr CUresult error_not_supported = 801;

constexpr int attribute_max_pitch = 11;
constexpr int attribute_integrated = 18;
constexpr int attribute_compute_capability_major = 75;
constexpr int attribute_compute_capability_minor = 76;
constexpr int attribute_pageable_memory_access = 88;
constexpr int attribute_can_use_host_pointer = 91;
constexpr int attribute_host_register_supported = 99;
constexpr int attribute_uses_host_page_tables = 100;
constexpr int attribute_virtual_memory_management = 102;
constexpr int attribute_numa_config = 130;
constexpr int attribute_numa_id = 131;
constexpr int pointer_attribute_memory_type = 2;

constexpr int numa_config_node = 1;

constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_disable_timing = 2;
constexpr unsigned host_portable = 1;    // of cuMemHostAlloc and cuMemHostRegister alike
constexpr unsigned host_device_map = 2;  // likewise

constexpr int memory_type_host = 1;
constexpr int memory_type_device = 2;
constexpr int location_device = 1;
constexpr int allocation_pinned = 1;
constexpr int access_read_write = 3;
constexpr int granularity_minimum = 0;

struct CUDA_MEMCPY2D {
  std::size_t srcXInBytes;
  std::size_t srcY;
  int srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  void* srcArray;
  std::size_t srcPitch;
  std::size_t dstXInBytes;
  std::size_t dstY;
  int dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  void* dstArray;
  std::size_t dstPitch;
  std::size_t WidthInBytes;
  std::size_t Height;
};

struct CUmemLocation {
  int type;
  int id;
};

struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

// X(symbol, function type)
#define BLASTOFF_DRIVER_SYMBOLS(X)                                                                                     \
  X(cuInit, CUresult(unsigned))                                                                                        \
  X(cuDriverGetVersion, CUresult(int*))                                                                                \
  X(cuGetErrorName, CUresult(CUresult, const char**))                                                                  \
  X(cuGetErrorString, CUresult(CUresult, const char**))                                                                \
  X(cuDeviceGet, CUresult(CUdevice*, int))                                                                             \
  X(cuDeviceGetCount, CUresult(int*))                                                                                  \
  X(cuDeviceGetName, CUresult(char*, int, CUdevice))                                                                   \
  X(cuDeviceGetAttribute, CUresult(int*, int, CUdevice))                                                               \
  X(cuDeviceTotalMem_v2, CUresult(std::size_t*, CUdevice))                                                             \
  X(cuDevicePrimaryCtxRetain, CUresult(CUcontext*, CUdevice))                                                          \
  X(cuDevicePrimaryCtxRelease_v2, CUresult(CUdevice))                                                                  \
  X(cuCtxGetCurrent, CUresult(CUcontext*))                                                                             \
  X(cuCtxPushCurrent_v2, CUresult(CUcontext))                                                                          \
  X(cuCtxPopCurrent_v2, CUresult(CUcontext*))                                                                          \
  X(cuMemGetInfo_v2, CUresult(std::size_t*, std::size_t*))                                                             \
  X(cuMemAlloc_v2, CUresult(CUdeviceptr*, std::size_t))                                                                \
  X(cuMemFree_v2, CUresult(CUdeviceptr))                                                                               \
  X(cuMemAddressReserve, CUresult(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long))            \
  X(cuMemAddressFree, CUresult(CUdeviceptr, std::size_t))                                                              \
  X(cuMemGetAllocationGranularity, CUresult(std::size_t*, const CUmemAllocationProp*, int))                            \
  X(cuMemCreate, CUresult(CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*, unsigned long long)) \
  X(cuMemRelease, CUresult(CUmemGenericAllocationHandle))                                                              \
  X(cuMemMap, CUresult(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle, unsigned long long))       \
  X(cuMemUnmap, CUresult(CUdeviceptr, std::size_t))                                                                    \
  X(cuMemSetAccess, CUresult(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t))                           \
  X(cuMemHostAlloc, CUresult(void**, std::size_t, unsigned))                                                           \
  X(cuMemFreeHost, CUresult(void*))                                                                                    \
  X(cuMemHostRegister_v2, CUresult(void*, std::size_t, unsigned))                                                      \
  X(cuMemHostUnregister, CUresult(void*))                                                                              \
  X(cuMemHostGetDevicePointer_v2, CUresult(CUdeviceptr*, void*, unsigned))                                             \
  X(cuPointerGetAttribute, CUresult(void*, int, CUdeviceptr))                                                          \
  X(cuMemcpyHtoDAsync_v2, CUresult(CUdeviceptr, const void*, std::size_t, CUstream))                                   \
  X(cuMemcpyDtoHAsync_v2, CUresult(void*, CUdeviceptr, std::size_t, CUstream))                                         \
  X(cuMemcpy2DAsync_v2, CUresult(const CUDA_MEMCPY2D*, CUstream))                                                      \
  X(cuStreamCreate, CUresult(CUstream*, unsigned))                                                                     \
  X(cuStreamDestroy_v2, CUresult(CUstream))                                                                            \
  X(cuStreamSynchronize, CUresult(CUstream))                                                                           \
  X(cuStreamWaitEvent, CUresult(CUstream, CUevent, unsigned))                                                          \
  X(cuEventCreate, CUresult(CUevent*, unsigned))                                                                       \
  X(cuEventDestroy_v2, CUresult(CUevent))                                                                              \
  X(cuEventRecord, CUresult(CUevent, CUstream))                                                                        \
  X(cuEventSynchronize, CUresult(CUevent))                                                                             \
  X(cuModuleLoadData, CUresult(CUmodule*, const void*))                                                                \
  X(cuModuleUnload, CUresult(CUmodule))                                                                                \
  X(cuModuleGetFunction, CUresult(CUfunction*, CUmodule, const char*))                                                 \
  X(cuLaunchKernel, CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                             CUstream, void**, void**))

// Null in older drivers (before CUDA 12.2).
#define BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(X) \
  X(cuMemPrefetchAsync_v2, CUresult(CUdeviceptr, std::size_t, CUmemLocation, unsigned, CUstream))

using cublasStatus = int;
using cublasHandle = struct CublasHandle*;

constexpr cublasStatus blas_success = 0;
constexpr cublasStatus blas_alloc_failed = 3;
constexpr cublasStatus blas_arch_mismatch = 8;
constexpr cublasStatus blas_not_supported = 15;

constexpr int fill_lower = 0;
constexpr int fill_upper = 1;
constexpr int diagonal_non_unit = 0;
constexpr int diagonal_unit = 1;
constexpr int side_left = 0;
constexpr int side_right = 1;
constexpr int operation_none = 0;
constexpr int operation_transpose = 1;
constexpr int operation_conjugate = 2;
constexpr int pointer_mode_host = 0;
constexpr int atomics_not_allowed = 0;
constexpr int math_default = 0;
constexpr int math_disallow_reduced_precision_reduction = 16;
constexpr int property_major = 0;
constexpr int property_minor = 1;
constexpr int property_patch = 2;

#define BLASTOFF_CUBLAS_SYMBOLS(X)                                         \
  X(cublasCreate_v2, cublasStatus(cublasHandle*))                          \
  X(cublasDestroy_v2, cublasStatus(cublasHandle))                          \
  X(cublasGetProperty, cublasStatus(int, int*))                            \
  X(cublasGetStatusName, const char*(cublasStatus))                        \
  X(cublasSetStream_v2, cublasStatus(cublasHandle, CUstream))              \
  X(cublasSetWorkspace_v2, cublasStatus(cublasHandle, void*, std::size_t)) \
  X(cublasSetMathMode, cublasStatus(cublasHandle, int))                    \
  X(cublasSetPointerMode_v2, cublasStatus(cublasHandle, int))              \
  X(cublasSetAtomicsMode, cublasStatus(cublasHandle, int))

// The routines' signatures, the element type left open: coefficients and matrices are passed by address.
using Size = std::int64_t;
using Gemm = cublasStatus(cublasHandle, int transpose_a, int transpose_b, Size m, Size n, Size k, const void* alpha,
                          const void* a, Size lda, const void* b, Size ldb, const void* beta, void* c, Size ldc);
using Symm = cublasStatus(cublasHandle, int side, int fill, Size m, Size n, const void* alpha, const void* a, Size lda,
                          const void* b, Size ldb, const void* beta, void* c, Size ldc);
using Syrk = cublasStatus(cublasHandle, int fill, int transpose, Size n, Size k, const void* alpha, const void* a,
                          Size lda, const void* beta, void* c, Size ldc);
using Syr2k = cublasStatus(cublasHandle, int fill, int transpose, Size n, Size k, const void* alpha, const void* a,
                           Size lda, const void* b, Size ldb, const void* beta, void* c, Size ldc);
using Trmm = cublasStatus(cublasHandle, int side, int fill, int transpose, int diagonal, Size m, Size n,
                          const void* alpha, const void* a, Size lda, const void* b, Size ldb, void* c, Size ldc);
using Trsm = cublasStatus(cublasHandle, int side, int fill, int transpose, int diagonal, Size m, Size n,
                          const void* alpha, const void* a, Size lda, void* b, Size ldb);

// X(symbol, member of Cublas, scalar, signature)
#define BLASTOFF_CUBLAS_ROUTINES_OF(X, letter, scalar) \
  X(cublas##letter##gemm_v2_64, gemm, scalar, Gemm)    \
  X(cublas##letter##symm_v2_64, symm, scalar, Symm)    \
  X(cublas##letter##syrk_v2_64, syrk, scalar, Syrk)    \
  X(cublas##letter##syr2k_v2_64, syr2k, scalar, Syr2k) \
  X(cublas##letter##trmm_v2_64, trmm, scalar, Trmm)    \
  X(cublas##letter##trsm_v2_64, trsm, scalar, Trsm)
#define BLASTOFF_CUBLAS_HERMITIAN_ROUTINES_OF(X, letter, scalar) \
  X(cublas##letter##hemm_v2_64, hemm, scalar, Symm)              \
  X(cublas##letter##herk_v2_64, herk, scalar, Syrk)              \
  X(cublas##letter##her2k_v2_64, her2k, scalar, Syr2k)
#define BLASTOFF_CUBLAS_ROUTINES(X)              \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, S, s)           \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, D, d)           \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, C, c)           \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, Z, z)           \
  BLASTOFF_CUBLAS_HERMITIAN_ROUTINES_OF(X, C, c) \
  BLASTOFF_CUBLAS_HERMITIAN_ROUTINES_OF(X, Z, z)

}  // namespace blastoff::device::cuda::api
