// Compares the declarations of device/gpu/cuda/api.h with NVIDIA's own headers, where these are installed.
//
// The compiler makes all checks; the program only says whether there were any headers to compare with.
#include "device/gpu/cuda/api.h"

#include "device/gpu/cuda/cublas/api.h"
#include "device/gpu/cuda/cufft/api.h"
#include "device/gpu/cuda/cusolver/api.h"
#include "device/gpu/cuda/team/api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>) && __has_include(<cublas_v2.h>) && __has_include(<cusolverDn.h>)

#include <cstddef>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda.h>
#include <cusolverDn.h>
#if __has_include(<cufft.h>)
#include <cufft.h>
#endif
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif
#if __has_include(<cusolverMp.h>)
#include <cusolverMp.h>
#endif
#if __has_include(<cublasmp.h>)
#include <cublasmp.h>
#endif

namespace blastoff::device::gpu::cuda::api {
namespace {

template <class T>
constexpr bool is_number = std::is_integral_v<T> || std::is_enum_v<T>;

/// Whether two types are passed in the same way: pointers match pointers (api.h leaves the elements' type open),
/// enumerations match integers of their size, structures match structures of their size (fields are compared below).
template <class Own, class Real>
constexpr bool same_argument = std::is_same_v<Own, Real> || (std::is_pointer_v<Own> && std::is_pointer_v<Real>) ||
                               (((is_number<Own> && is_number<Real>) ||
                                 (std::is_class_v<Own> && std::is_class_v<Real>)) &&
                                sizeof(Own) == sizeof(Real));

template <class T>
concept Complete = requires {
  sizeof(T);
};

/// Whether the objects of two pointers have the same size, if both sizes are known.
template <class Own, class Real>
constexpr bool same_target() {
  using OwnTarget = std::remove_cv_t<std::remove_pointer_t<Own>>;
  using RealTarget = std::remove_cv_t<std::remove_pointer_t<Real>>;
  if constexpr (!std::is_pointer_v<Own> || std::is_void_v<OwnTarget> || std::is_void_v<RealTarget>) {
    return true;
  } else if constexpr (Complete<OwnTarget> && Complete<RealTarget>) {
    return sizeof(OwnTarget) == sizeof(RealTarget);
  } else {
    return true;
  }
}

template <class Own, class Real>
struct SameFunction : std::false_type {};

template <class OwnResult, class... Own, class RealResult, class... Real>
requires(sizeof...(Own) == sizeof...(Real)) struct SameFunction<OwnResult(Own...), RealResult(Real...)>
    : std::bool_constant<same_argument<OwnResult, RealResult> && (same_argument<Own, Real> && ...) &&
                         (same_target<Own, Real>() && ...)> {
};

#define BLASTOFF_CHECK(symbol, ...) static_assert(SameFunction<__VA_ARGS__, decltype(::symbol)>::value, #symbol);
BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_CUSOLVER_SYMBOLS(BLASTOFF_CHECK)
#if CUSOLVER_VERSION >= 11702
BLASTOFF_OPTIONAL_CUSOLVER_SYMBOLS(BLASTOFF_CHECK)
#endif
#undef BLASTOFF_CHECK
#define BLASTOFF_CHECK(symbol, member, scalar, signature) \
  static_assert(SameFunction<signature, decltype(::symbol)>::value, #symbol);
BLASTOFF_CUBLAS_ROUTINES(BLASTOFF_CHECK)
BLASTOFF_CUSOLVER_ROUTINES(BLASTOFF_CHECK)
#undef BLASTOFF_CHECK

// The comparison itself detects a difference.
static_assert(!SameFunction<CUresult(int), decltype(::cuMemFree_v2)>::value);
static_assert(!SameFunction<CUresult(int*), decltype(::cuMemAlloc_v2)>::value);
static_assert(!SameFunction<CUresult(int*, std::size_t), decltype(::cuMemAlloc_v2)>::value);

#define BLASTOFF_SAME_PLACE(type, own, real)                                                                \
  static_assert(offsetof(type, own) == offsetof(::type, real) && sizeof(type::own) == sizeof(::type::real), \
                #type "." #real);
#define BLASTOFF_SAME_FIELD(type, field) BLASTOFF_SAME_PLACE(type, field, field)
#define BLASTOFF_SAME_SIZE(type) \
  static_assert(sizeof(type) == sizeof(::type) && alignof(type) == alignof(::type), #type);
BLASTOFF_SAME_SIZE(CUdeviceptr)
BLASTOFF_SAME_SIZE(CUmemGenericAllocationHandle)
BLASTOFF_SAME_SIZE(CUDA_MEMCPY2D)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, source_x, srcXInBytes)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, source_y, srcY)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, source_type, srcMemoryType)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, source_host, srcHost)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, source, srcDevice)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, source_pitch, srcPitch)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, destination_x, dstXInBytes)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, destination_y, dstY)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, destination_type, dstMemoryType)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, destination_host, dstHost)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, destination, dstDevice)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, destination_pitch, dstPitch)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, width_bytes, WidthInBytes)
BLASTOFF_SAME_PLACE(CUDA_MEMCPY2D, height, Height)
BLASTOFF_SAME_SIZE(CUmemAllocationProp)
BLASTOFF_SAME_FIELD(CUmemAllocationProp, type)
BLASTOFF_SAME_FIELD(CUmemAllocationProp, requestedHandleTypes)
BLASTOFF_SAME_FIELD(CUmemAllocationProp, location)
BLASTOFF_SAME_FIELD(CUmemAllocationProp, win32HandleMetaData)
BLASTOFF_SAME_FIELD(CUmemAllocationProp, allocFlags)
BLASTOFF_SAME_SIZE(CUmemLocation)
BLASTOFF_SAME_FIELD(CUmemLocation, type)
BLASTOFF_SAME_FIELD(CUmemLocation, id)
BLASTOFF_SAME_SIZE(CUmemAccessDesc)
BLASTOFF_SAME_FIELD(CUmemAccessDesc, location)
BLASTOFF_SAME_FIELD(CUmemAccessDesc, flags)

#define BLASTOFF_SAME_VALUE(own, real) static_assert(static_cast<long long>(own) == static_cast<long long>(real), #own);
BLASTOFF_SAME_VALUE(success, CUDA_SUCCESS)
BLASTOFF_SAME_VALUE(error_out_of_memory, CUDA_ERROR_OUT_OF_MEMORY)
BLASTOFF_SAME_VALUE(error_stub_library, CUDA_ERROR_STUB_LIBRARY)
BLASTOFF_SAME_VALUE(error_no_device, CUDA_ERROR_NO_DEVICE)
BLASTOFF_SAME_VALUE(error_not_supported, CUDA_ERROR_NOT_SUPPORTED)
BLASTOFF_SAME_VALUE(error_device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE)
BLASTOFF_SAME_VALUE(attribute_compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)
BLASTOFF_SAME_VALUE(compute_mode_prohibited, CU_COMPUTEMODE_PROHIBITED)
BLASTOFF_SAME_VALUE(compute_mode_exclusive_process, CU_COMPUTEMODE_EXCLUSIVE_PROCESS)
BLASTOFF_SAME_VALUE(attribute_max_pitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH)
BLASTOFF_SAME_VALUE(attribute_compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
BLASTOFF_SAME_VALUE(attribute_compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
BLASTOFF_SAME_VALUE(attribute_can_use_host_pointer, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)
BLASTOFF_SAME_VALUE(attribute_host_register_supported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)
BLASTOFF_SAME_VALUE(attribute_virtual_memory_management, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
BLASTOFF_SAME_VALUE(attribute_integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED)
BLASTOFF_SAME_VALUE(attribute_pageable_memory_access, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
BLASTOFF_SAME_VALUE(attribute_uses_host_page_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)
BLASTOFF_SAME_VALUE(attribute_numa_config, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG)
BLASTOFF_SAME_VALUE(attribute_numa_id, CU_DEVICE_ATTRIBUTE_NUMA_ID)
BLASTOFF_SAME_VALUE(numa_config_node, CU_DEVICE_NUMA_CONFIG_NUMA_NODE)
BLASTOFF_SAME_VALUE(pointer_attribute_memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
BLASTOFF_SAME_VALUE(stream_non_blocking, CU_STREAM_NON_BLOCKING)
BLASTOFF_SAME_VALUE(event_disable_timing, CU_EVENT_DISABLE_TIMING)
BLASTOFF_SAME_VALUE(host_portable, CU_MEMHOSTALLOC_PORTABLE)
BLASTOFF_SAME_VALUE(host_portable, CU_MEMHOSTREGISTER_PORTABLE)
BLASTOFF_SAME_VALUE(host_device_map, CU_MEMHOSTALLOC_DEVICEMAP)
BLASTOFF_SAME_VALUE(host_device_map, CU_MEMHOSTREGISTER_DEVICEMAP)
BLASTOFF_SAME_VALUE(memory_type_host, CU_MEMORYTYPE_HOST)
BLASTOFF_SAME_VALUE(memory_type_device, CU_MEMORYTYPE_DEVICE)
BLASTOFF_SAME_VALUE(memory_type_unified, CU_MEMORYTYPE_UNIFIED)
BLASTOFF_SAME_VALUE(location_device, CU_MEM_LOCATION_TYPE_DEVICE)
BLASTOFF_SAME_VALUE(allocation_pinned, CU_MEM_ALLOCATION_TYPE_PINNED)
BLASTOFF_SAME_VALUE(access_read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
BLASTOFF_SAME_VALUE(granularity_minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM)
BLASTOFF_SAME_VALUE(blas_success, CUBLAS_STATUS_SUCCESS)
BLASTOFF_SAME_VALUE(blas_alloc_failed, CUBLAS_STATUS_ALLOC_FAILED)
BLASTOFF_SAME_VALUE(blas_arch_mismatch, CUBLAS_STATUS_ARCH_MISMATCH)
BLASTOFF_SAME_VALUE(blas_not_supported, CUBLAS_STATUS_NOT_SUPPORTED)
BLASTOFF_SAME_VALUE(fill_lower, CUBLAS_FILL_MODE_LOWER)
BLASTOFF_SAME_VALUE(fill_upper, CUBLAS_FILL_MODE_UPPER)
BLASTOFF_SAME_VALUE(diagonal_non_unit, CUBLAS_DIAG_NON_UNIT)
BLASTOFF_SAME_VALUE(diagonal_unit, CUBLAS_DIAG_UNIT)
BLASTOFF_SAME_VALUE(side_left, CUBLAS_SIDE_LEFT)
BLASTOFF_SAME_VALUE(side_right, CUBLAS_SIDE_RIGHT)
BLASTOFF_SAME_VALUE(operation_none, CUBLAS_OP_N)
BLASTOFF_SAME_VALUE(operation_transpose, CUBLAS_OP_T)
BLASTOFF_SAME_VALUE(operation_conjugate, CUBLAS_OP_C)
BLASTOFF_SAME_VALUE(pointer_mode_host, CUBLAS_POINTER_MODE_HOST)
BLASTOFF_SAME_VALUE(atomics_not_allowed, CUBLAS_ATOMICS_NOT_ALLOWED)
BLASTOFF_SAME_VALUE(math_default, CUBLAS_DEFAULT_MATH)
BLASTOFF_SAME_VALUE(math_disallow_reduced_precision_reduction, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)
BLASTOFF_SAME_VALUE(solver_success, CUSOLVER_STATUS_SUCCESS)
BLASTOFF_SAME_VALUE(solver_alloc_failed, CUSOLVER_STATUS_ALLOC_FAILED)
BLASTOFF_SAME_VALUE(solver_invalid_value, CUSOLVER_STATUS_INVALID_VALUE)
BLASTOFF_SAME_VALUE(solver_arch_mismatch, CUSOLVER_STATUS_ARCH_MISMATCH)
BLASTOFF_SAME_VALUE(solver_type_not_supported, CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED)
BLASTOFF_SAME_VALUE(solver_not_supported, CUSOLVER_STATUS_NOT_SUPPORTED)
BLASTOFF_SAME_VALUE(type_real_32, CUDA_R_32F)
BLASTOFF_SAME_VALUE(type_real_64, CUDA_R_64F)
BLASTOFF_SAME_VALUE(type_complex_32, CUDA_C_32F)
BLASTOFF_SAME_VALUE(type_complex_64, CUDA_C_64F)
BLASTOFF_SAME_VALUE(no_vectors, CUSOLVER_EIG_MODE_NOVECTOR)
BLASTOFF_SAME_VALUE(with_vectors, CUSOLVER_EIG_MODE_VECTOR)
BLASTOFF_SAME_VALUE(range_of_indices, CUSOLVER_EIG_RANGE_I)
BLASTOFF_SAME_VALUE(property_major, MAJOR_VERSION)
BLASTOFF_SAME_VALUE(property_minor, MINOR_VERSION)
BLASTOFF_SAME_VALUE(property_patch, PATCH_LEVEL)

#if __has_include(<cufft.h>)
#define BLASTOFF_CHECK(symbol, ...) static_assert(SameFunction<__VA_ARGS__, decltype(::symbol)>::value, #symbol);
BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_CHECK)
#undef BLASTOFF_CHECK
BLASTOFF_SAME_VALUE(fft_success, CUFFT_SUCCESS)
BLASTOFF_SAME_VALUE(fft_alloc_failed, CUFFT_ALLOC_FAILED)
BLASTOFF_SAME_VALUE(fft_invalid_type, CUFFT_INVALID_TYPE)
BLASTOFF_SAME_VALUE(fft_invalid_value, CUFFT_INVALID_VALUE)
BLASTOFF_SAME_VALUE(fft_invalid_size, CUFFT_INVALID_SIZE)
BLASTOFF_SAME_VALUE(fft_unaligned_data, CUFFT_UNALIGNED_DATA)
BLASTOFF_SAME_VALUE(fft_not_implemented, CUFFT_NOT_IMPLEMENTED)
BLASTOFF_SAME_VALUE(fft_not_supported, CUFFT_NOT_SUPPORTED)
BLASTOFF_SAME_VALUE(fft_c2c, CUFFT_C2C)
BLASTOFF_SAME_VALUE(fft_r2c, CUFFT_R2C)
BLASTOFF_SAME_VALUE(fft_c2r, CUFFT_C2R)
BLASTOFF_SAME_VALUE(fft_z2z, CUFFT_Z2Z)
BLASTOFF_SAME_VALUE(fft_d2z, CUFFT_D2Z)
BLASTOFF_SAME_VALUE(fft_z2d, CUFFT_Z2D)
BLASTOFF_SAME_VALUE(fft_forward, CUFFT_FORWARD)
BLASTOFF_SAME_VALUE(fft_inverse, CUFFT_INVERSE)
#endif

#define BLASTOFF_CHECK(symbol, ...) static_assert(SameFunction<__VA_ARGS__, decltype(::symbol)>::value, #symbol);
#if __has_include(<nccl.h>)
BLASTOFF_NCCL_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_SAME_SIZE(ncclUniqueId)
BLASTOFF_SAME_VALUE(nccl_success, ncclSuccess)
#endif
#if __has_include(<cusolverMp.h>)
BLASTOFF_CUSOLVERMP_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_SAME_VALUE(column_by_column, CUSOLVERMP_GRID_MAPPING_COL_MAJOR)
#endif
#if __has_include(<cublasmp.h>)
BLASTOFF_CUBLASMP_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_SAME_VALUE(column_by_column, CUBLASMP_GRID_LAYOUT_COL_MAJOR)
BLASTOFF_SAME_VALUE(blas_mp_success, CUBLASMP_STATUS_SUCCESS)
BLASTOFF_SAME_VALUE(blas_mp_not_supported, CUBLASMP_STATUS_NOT_SUPPORTED)
#endif
#undef BLASTOFF_CHECK
BLASTOFF_SAME_VALUE(compute_32f, CUBLAS_COMPUTE_32F)
BLASTOFF_SAME_VALUE(compute_64f, CUBLAS_COMPUTE_64F)
BLASTOFF_SAME_VALUE(stream_default, CU_STREAM_DEFAULT)

TEST(CudaApi, IsDeclaredAsInNvidiasHeaders) {
  SUCCEED() << "checked while compiling";
}

}  // namespace
}  // namespace blastoff::device::gpu::cuda::api

#else

TEST(CudaApi, IsDeclaredAsInNvidiasHeaders) {
  GTEST_SKIP() << "no cuda.h, cublas_v2.h and cusolverDn.h were found when this was built";
}

#endif
