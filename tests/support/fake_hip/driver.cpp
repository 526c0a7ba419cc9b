// A libamdhip64.so.7 for machines without a GPU: HIP's functions over the fake GPU of fake_cuda/, as HIP's own
// functions run over CUDA on NVIDIA's GPUs. A thread has a current device in place of a context. The image of a module
// must be the one of HIP.
#include <string_view>

#include "fake_cuda/gpu.h"
#include "fake_hip/api.h"

using namespace blastoff::fake_hip;                // NOLINT: this file is written in the driver's own words
using namespace blastoff::device::gpu::cuda::api;  // NOLINT
using blastoff::fake_cuda::Gpu;

extern "C" {
// The functions of fake_cuda/driver.cpp.
#define BLASTOFF_DECLARE(symbol, ...) std::remove_pointer_t<std::add_pointer_t<__VA_ARGS__>> symbol;
BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_DECLARE)
#undef BLASTOFF_DECLARE
}

namespace {

constinit thread_local int current = 0;

CUdeviceptr number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// Does the work in the context of the thread's current device.
template <class Work>
hipError_t on_device(const Work& work) {
  CUcontext context = nullptr;
  if (const auto error = cuDevicePrimaryCtxRetain(&context, current); error != success) return error;
  cuCtxPushCurrent_v2(context);
  const hipError_t error = work();
  cuCtxPopCurrent_v2(&context);
  return error;
}

CUmemAllocationProp allocation(const hipMemAllocationProp& properties) {
  CUmemAllocationProp same{};
  same.type = properties.type;
  same.location = {properties.location.type, properties.location.id};
  return same;
}

}  // namespace

extern "C" {

hipError_t hipInit(unsigned flags) {
  return cuInit(flags);
}
hipError_t hipDriverGetVersion(int* version) {
  *version = 60443484;
  return hipSuccess;
}
const char* hipGetErrorName(hipError_t error) {
  return error == hipErrorOutOfMemory ? "hipErrorOutOfMemory" : "hipErrorOfTheFakeGpu";
}
const char* hipGetErrorString(hipError_t) {
  return "an error of the fake GPU";
}
hipError_t hipGetDeviceCount(int* count) {
  return cuDeviceGetCount(count);
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return cuDeviceGet(device, ordinal);
}
hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  return cuDeviceGetName(name, length, device);
}
hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  return cuDeviceGetPCIBusId(text, length, device);
}
hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  return cuDeviceTotalMem_v2(bytes, device);
}
hipError_t hipSetDevice(int device) {
  int count = 0;
  cuDeviceGetCount(&count);
  if (device < 0 || device >= count) return hipErrorInvalidDevice;
  current = device;
  return hipSuccess;
}
hipError_t hipGetDevice(int* device) {
  *device = current;
  return hipSuccess;
}
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return cuDeviceCanAccessPeer(can, device, peer);
}
hipError_t hipDeviceEnablePeerAccess(int, unsigned flags) {
  return cuCtxEnablePeerAccess(nullptr, flags);
}
hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return on_device([&] { return cuMemGetInfo_v2(free, total); });
}
hipError_t hipMalloc(void** address, std::size_t bytes) {
  return on_device([&] {
    CUdeviceptr allocated = 0;
    const auto error = cuMemAlloc_v2(&allocated, bytes);
    *address = reinterpret_cast<void*>(allocated);
    return error;
  });
}
hipError_t hipFree(void* address) {
  return on_device([&] { return cuMemFree_v2(number(address)); });
}
hipError_t hipMemAddressReserve(void** address, std::size_t bytes, std::size_t alignment, void* wanted,
                                unsigned long long flags) {
  CUdeviceptr reserved = 0;
  const auto error = cuMemAddressReserve(&reserved, bytes, alignment, number(wanted), flags);
  *address = reinterpret_cast<void*>(reserved);
  return error;
}
hipError_t hipMemAddressFree(void* address, std::size_t bytes) {
  return cuMemAddressFree(number(address), bytes);
}
hipError_t hipMemGetAllocationGranularity(std::size_t* bytes, const hipMemAllocationProp* properties, int option) {
  const auto same = allocation(*properties);
  return cuMemGetAllocationGranularity(bytes, &same, option);
}
hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* memory, std::size_t bytes,
                        const hipMemAllocationProp* properties, unsigned long long flags) {
  const auto same = allocation(*properties);
  CUmemGenericAllocationHandle created = 0;
  const auto error = cuMemCreate(&created, bytes, &same, flags);
  *memory = reinterpret_cast<hipMemGenericAllocationHandle_t>(created);
  return error;
}
hipError_t hipMemRelease(hipMemGenericAllocationHandle_t memory) {
  return cuMemRelease(reinterpret_cast<std::uintptr_t>(memory));
}
hipError_t hipMemMap(void* address, std::size_t bytes, std::size_t offset, hipMemGenericAllocationHandle_t memory,
                     unsigned long long flags) {
  return cuMemMap(number(address), bytes, offset, reinterpret_cast<std::uintptr_t>(memory), flags);
}
hipError_t hipMemUnmap(void* address, std::size_t bytes) {
  return cuMemUnmap(number(address), bytes);
}
hipError_t hipMemSetAccess(void* address, std::size_t bytes, const hipMemAccessDesc* access, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc same{{access[i].location.type, access[i].location.id}, access[i].flags};
    if (const auto error = cuMemSetAccess(number(address), bytes, &same, 1); error != success) return error;
  }
  return hipSuccess;
}
hipError_t hipHostMalloc(void** address, std::size_t bytes, unsigned flags) {
  return on_device([&] { return cuMemHostAlloc(address, bytes, flags); });
}
hipError_t hipHostFree(void* address) {
  return cuMemFreeHost(address);
}
hipError_t hipHostRegister(void* address, std::size_t bytes, unsigned flags) {
  return on_device([&] { return cuMemHostRegister_v2(address, bytes, flags); });
}
hipError_t hipHostUnregister(void* address) {
  return cuMemHostUnregister(address);
}
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  CUdeviceptr address = 0;
  const auto error = cuMemHostGetDevicePointer_v2(&address, host, flags);
  *device = reinterpret_cast<void*>(address);
  return error;
}
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
  unsigned type = 0;
  if (cuPointerGetAttribute(&type, pointer_attribute_memory_type, number(address)) != success)
    type = hipMemoryTypeUnregistered;
  *attributes = {};
  attributes->type = static_cast<int>(type);
  return hipSuccess;
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return on_device([&] {
    switch (kind) {
      case hipMemcpyHostToDevice: return cuMemcpyHtoDAsync_v2(number(to), from, bytes, stream);
      case hipMemcpyDeviceToHost: return cuMemcpyDtoHAsync_v2(to, number(from), bytes, stream);
      case hipMemcpyDeviceToDevice: return cuMemcpyDtoDAsync_v2(number(to), number(from), bytes, stream);
      case hipMemcpyHostToHost: break;
    }
    return hipErrorInvalidValue;
  });
}
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* copy, hipStream_t stream) {
  return on_device([&] { return cuMemcpy2DAsync_v2(copy, stream); });
}
hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, std::size_t count, hipStream_t stream) {
  return on_device([&] { return cuMemsetD8Async(number(to), value, count, stream); });
}
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return on_device([&] { return cuStreamCreate(stream, flags); });
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  return cuStreamDestroy_v2(stream);
}
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return on_device([&] { return cuStreamSynchronize(stream); });
}
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return on_device([&] { return cuStreamWaitEvent(stream, event, flags); });
}
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return on_device([&] { return cuEventCreate(event, flags); });
}
hipError_t hipEventDestroy(hipEvent_t event) {
  return cuEventDestroy_v2(event);
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return on_device([&] { return cuEventRecord(event, stream); });
}
hipError_t hipEventSynchronize(hipEvent_t event) {
  return on_device([&] { return cuEventSynchronize(event); });
}
hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  if (std::string_view(static_cast<const char*>(image)) != "code object") return hipErrorInvalidValue;
  return on_device([&] { return cuModuleLoadData(module, nullptr); });
}
hipError_t hipModuleUnload(hipModule_t module) {
  return cuModuleUnload(module);
}
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return cuModuleGetFunction(function, module, name);
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                                 unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,
                                 hipStream_t stream, void** parameters, void** extra) {
  return on_device([&] {
    return cuLaunchKernel(function, blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z, shared, stream,
                          parameters, extra);
  });
}
hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  stream->stream.post([=] {
    if (Gpu::instance().sticky() == success) function(data);
  });
  return hipSuccess;
}

}  // extern "C"

// All functions are here, with the same types.
#define BLASTOFF_CHECK(symbol, result, ...) \
  static_assert(std::is_same_v<decltype(::symbol), result(__VA_ARGS__)>, #symbol);
FAKE_HIP_SYMBOLS(BLASTOFF_CHECK)
