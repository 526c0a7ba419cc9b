// The part of NVIDIA's driver API that is used here, declared so that building needs no CUDA toolkit.
//
// Names are NVIDIA's own with their ABI version. Values and layouts are those of CUDA 12 and 13, which are equal.
// tests/unit/device/cuda_api_test.cpp compares every line with the real headers where these exist.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/driver.h"

namespace blastoff::device::gpu::cuda::api {

using CUresult = Code;
using CUdevice = int;
using CUdeviceptr = Address;
using CUmemGenericAllocationHandle = AllocationHandle;
using CUcontext = ContextHandle;
using CUstream = StreamHandle;
using CUevent = EventHandle;
using CUmodule = ModuleHandle;
using CUfunction = FunctionHandle;
using CUDA_MEMCPY2D = RectangleCopy;

using gpu::event_disable_timing;
using gpu::host_device_map;
using gpu::host_portable;
using gpu::memory_type_device;
using gpu::memory_type_host;
using gpu::stream_default;
using gpu::stream_non_blocking;
using gpu::success;

constexpr CUresult error_out_of_memory = 2;
constexpr CUresult error_stub_library = 34;
constexpr CUresult error_device_unavailable = 46;
constexpr CUresult error_no_device = 100;
constexpr CUresult error_peer_access_already_enabled = 704;
constexpr CUresult error_not_supported = 801;

constexpr int attribute_max_pitch = 11;
constexpr int attribute_clock_rate = 13;  // kHz
constexpr int attribute_multiprocessor_count = 16;
constexpr int attribute_integrated = 18;
constexpr int attribute_compute_mode = 20;
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
constexpr int compute_mode_prohibited = 2;
constexpr int compute_mode_exclusive_process = 3;

constexpr int memory_type_unified = 4;  // the address shows which
constexpr int location_device = 1;
constexpr int allocation_pinned = 1;
constexpr int access_read_write = 3;
constexpr int granularity_minimum = 0;

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
  X(cuDeviceGetPCIBusId, CUresult(char*, int, CUdevice))                                                               \
  X(cuDeviceTotalMem_v2, CUresult(std::size_t*, CUdevice))                                                             \
  X(cuDevicePrimaryCtxRetain, CUresult(CUcontext*, CUdevice))                                                          \
  X(cuDevicePrimaryCtxRelease_v2, CUresult(CUdevice))                                                                  \
  X(cuCtxGetCurrent, CUresult(CUcontext*))                                                                             \
  X(cuCtxPushCurrent_v2, CUresult(CUcontext))                                                                          \
  X(cuCtxPopCurrent_v2, CUresult(CUcontext*))                                                                          \
  X(cuDeviceCanAccessPeer, CUresult(int*, CUdevice, CUdevice))                                                         \
  X(cuCtxEnablePeerAccess, CUresult(CUcontext, unsigned))                                                              \
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
  X(cuMemcpyDtoDAsync_v2, CUresult(CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                                   \
  X(cuMemcpy2DAsync_v2, CUresult(const CUDA_MEMCPY2D*, CUstream))                                                      \
  X(cuMemsetD8Async, CUresult(CUdeviceptr, unsigned char, std::size_t, CUstream))                                      \
  X(cuMemsetD2D32Async, CUresult(CUdeviceptr, std::size_t, unsigned, std::size_t, std::size_t, CUstream))              \
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

}  // namespace blastoff::device::gpu::cuda::api
