// The part of AMD's HIP that a table of device/gpu needs, with HIP's own signatures and numbers
// (https://github.com/ROCm/HIP/blob/develop/include/hip/hip_runtime_api.h).
#pragma once

#include <cstddef>

#include "device/gpu/driver.h"

namespace blastoff::fake_hip {

using hipError_t = int;
using hipDevice_t = int;
using hipDeviceptr_t = void*;
using hipStream_t = device::gpu::StreamHandle;
using hipEvent_t = device::gpu::EventHandle;
using hipModule_t = device::gpu::ModuleHandle;
using hipFunction_t = device::gpu::FunctionHandle;
using hipMemGenericAllocationHandle_t = struct ihipMemGenericAllocationHandle*;
using hipHostFn_t = void (*)(void*);
using hip_Memcpy2D = device::gpu::RectangleCopy;

constexpr hipError_t hipSuccess = 0;
constexpr hipError_t hipErrorInvalidValue = 1;
constexpr hipError_t hipErrorOutOfMemory = 2;
constexpr hipError_t hipErrorNotInitialized = 3;
constexpr hipError_t hipErrorNoDevice = 100;
constexpr hipError_t hipErrorInvalidDevice = 101;
constexpr hipError_t hipErrorInvalidContext = 201;
constexpr hipError_t hipErrorIllegalAddress = 700;
constexpr hipError_t hipErrorPeerAccessAlreadyEnabled = 704;
constexpr hipError_t hipErrorLaunchFailure = 719;
constexpr hipError_t hipErrorNotSupported = 801;
constexpr hipError_t hipErrorUnknown = 999;

enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice };

constexpr int hipMemoryTypeUnregistered = 0;
constexpr int hipMemoryTypeHost = 1;
constexpr int hipMemoryTypeDevice = 2;
constexpr int hipMemLocationTypeDevice = 1;
constexpr int hipMemAllocationTypePinned = 1;
constexpr int hipMemAccessFlagsProtReadWrite = 3;

struct hipPointerAttribute_t {
  int type;
  int device;
  void* devicePointer;
  void* hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

struct hipMemLocation {
  int type;
  int id;
};

struct hipMemAllocationProp {
  int type;
  int requestedHandleType;
  hipMemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
  } allocFlags;
};

struct hipMemAccessDesc {
  hipMemLocation location;
  int flags;
};

// X(symbol, result, arguments)
#define FAKE_HIP_SYMBOLS(X)                                                                                       \
  X(hipInit, hipError_t, unsigned)                                                                                \
  X(hipDriverGetVersion, hipError_t, int*)                                                                        \
  X(hipGetErrorName, const char*, hipError_t)                                                                     \
  X(hipGetErrorString, const char*, hipError_t)                                                                   \
  X(hipGetDeviceCount, hipError_t, int*)                                                                          \
  X(hipDeviceGet, hipError_t, hipDevice_t*, int)                                                                  \
  X(hipDeviceGetName, hipError_t, char*, int, hipDevice_t)                                                        \
  X(hipDeviceGetPCIBusId, hipError_t, char*, int, int)                                                            \
  X(hipDeviceTotalMem, hipError_t, std::size_t*, hipDevice_t)                                                     \
  X(hipSetDevice, hipError_t, int)                                                                                \
  X(hipGetDevice, hipError_t, int*)                                                                               \
  X(hipDeviceCanAccessPeer, hipError_t, int*, int, int)                                                           \
  X(hipDeviceEnablePeerAccess, hipError_t, int, unsigned)                                                         \
  X(hipMemGetInfo, hipError_t, std::size_t*, std::size_t*)                                                        \
  X(hipMalloc, hipError_t, void**, std::size_t)                                                                   \
  X(hipFree, hipError_t, void*)                                                                                   \
  X(hipMemAddressReserve, hipError_t, void**, std::size_t, std::size_t, void*, unsigned long long)                \
  X(hipMemAddressFree, hipError_t, void*, std::size_t)                                                            \
  X(hipMemGetAllocationGranularity, hipError_t, std::size_t*, const hipMemAllocationProp*, int)                   \
  X(hipMemCreate, hipError_t, hipMemGenericAllocationHandle_t*, std::size_t, const hipMemAllocationProp*,         \
    unsigned long long)                                                                                           \
  X(hipMemRelease, hipError_t, hipMemGenericAllocationHandle_t)                                                   \
  X(hipMemMap, hipError_t, void*, std::size_t, std::size_t, hipMemGenericAllocationHandle_t, unsigned long long)  \
  X(hipMemUnmap, hipError_t, void*, std::size_t)                                                                  \
  X(hipMemSetAccess, hipError_t, void*, std::size_t, const hipMemAccessDesc*, std::size_t)                        \
  X(hipHostMalloc, hipError_t, void**, std::size_t, unsigned)                                                     \
  X(hipHostFree, hipError_t, void*)                                                                               \
  X(hipHostRegister, hipError_t, void*, std::size_t, unsigned)                                                    \
  X(hipHostUnregister, hipError_t, void*)                                                                         \
  X(hipHostGetDevicePointer, hipError_t, void**, void*, unsigned)                                                 \
  X(hipPointerGetAttributes, hipError_t, hipPointerAttribute_t*, const void*)                                     \
  X(hipMemcpyAsync, hipError_t, void*, const void*, std::size_t, hipMemcpyKind, hipStream_t)                      \
  X(hipMemcpyParam2DAsync, hipError_t, const hip_Memcpy2D*, hipStream_t)                                          \
  X(hipMemsetD8Async, hipError_t, hipDeviceptr_t, unsigned char, std::size_t, hipStream_t)                        \
  X(hipStreamCreateWithFlags, hipError_t, hipStream_t*, unsigned)                                                 \
  X(hipStreamDestroy, hipError_t, hipStream_t)                                                                    \
  X(hipStreamSynchronize, hipError_t, hipStream_t)                                                                \
  X(hipStreamWaitEvent, hipError_t, hipStream_t, hipEvent_t, unsigned)                                            \
  X(hipEventCreateWithFlags, hipError_t, hipEvent_t*, unsigned)                                                   \
  X(hipEventDestroy, hipError_t, hipEvent_t)                                                                      \
  X(hipEventRecord, hipError_t, hipEvent_t, hipStream_t)                                                          \
  X(hipEventSynchronize, hipError_t, hipEvent_t)                                                                  \
  X(hipModuleLoadData, hipError_t, hipModule_t*, const void*)                                                     \
  X(hipModuleUnload, hipError_t, hipModule_t)                                                                     \
  X(hipModuleGetFunction, hipError_t, hipFunction_t*, hipModule_t, const char*)                                   \
  X(hipModuleLaunchKernel, hipError_t, hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    unsigned, hipStream_t, void**, void**)                                                                        \
  X(hipLaunchHostFunc, hipError_t, hipStream_t, hipHostFn_t, void*)

}  // namespace blastoff::fake_hip
