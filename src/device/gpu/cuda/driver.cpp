#include "device/gpu/cuda/driver.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "device/gpu/cuda/inspect.h"
#include "device/gpu/cuda/kernels/kernels.h"
#include "device/gpu/cuda/library_file.h"
#include "platform/failure.h"

namespace blastoff::device::gpu::cuda {
namespace {

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

/// Places of the driver outside the loader's search path: of container runtimes, of Linux in Windows (WSL), of NixOS.
constexpr const char* driver_files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"};

void* open_driver(std::string& message) {
  for (const char* file : driver_files) {
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
    const auto failure = loader_message();
    // The error of a driver that exists and does not load tells more than that of a missing file.
    if (message.empty() || exists(file)) message = failure;
  }
  return nullptr;
}

/// The kernel's part of the driver: of a GPU on the bus, under Windows, and beside the CPU on one chip.
constexpr const char* kernel_files[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg",
                                        "/dev/nvhost-ctrl-gpu", "/dev/nvgpu"};

/// Never destroyed, since exit handlers use it.
std::atomic<const api::Driver*> loaded{nullptr};

Failure failure(Code code) {
  switch (code) {
    case api::error_out_of_memory: return Failure::out_of_memory;
    case api::error_not_supported: return Failure::unsupported;
    // After these errors the context is unusable ("the process must be terminated and relaunched", NVIDIA writes), or
    // there is none.
    case 3:  // not initialized
    case 4:  // deinitialized
    case api::error_device_unavailable:
    case 101:  // invalid device
    case 201:  // invalid context
    case 214:  // uncorrectable ECC error
    case 220:  // uncorrectable NVLink error
    case 226:  // contained error
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // context is destroyed
    case 710:  // device-side assertion
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failed
    case 810:  // MPS client terminated
    case 911:  // external device
    case 999:  // unknown
      return Failure::fatal;
    default: return Failure::refused;
  }
}

std::string describe(Code code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (functions().cuGetErrorName(code, &name) != success || name == nullptr) return fmt::format("CUDA error {}", code);
  if (functions().cuGetErrorString(code, &text) != success || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

/// Returns the first symbol that is missing, and must not be.
const char* find_functions(void* library, api::Driver& functions) {
  const char* missing = nullptr;
  BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(BLASTOFF_RESOLVE)
  missing = nullptr;
  BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_RESOLVE)
  return missing;
}

Result<int> start() {
  int count = 0;
  auto result = functions().cuInit(0);
  if (result == success) result = functions().cuDeviceGetCount(&count);
  if (result == api::error_stub_library) {
    return tl::unexpected(unavailable("the libcuda.so.1 found is the toolkit's stub, not the NVIDIA driver's"));
  }
  if (result == api::error_no_device || (result == success && count == 0)) {
    return tl::unexpected(unavailable("the NVIDIA driver finds no GPU (is it hidden by CUDA_VISIBLE_DEVICES?)"));
  }
  if (result != success) {
    return tl::unexpected(unavailable("the NVIDIA driver does not start: " + describe(result)));
  }
  return count;
}

Code reach(ContextHandle other) {
  const Code result = functions().cuCtxEnablePeerAccess(other, 0);
  return result == api::error_peer_access_already_enabled ? success : result;
}

Code create_memory(AllocationHandle* memory, std::size_t bytes, int gpu) {
  const auto properties = allocation_properties(gpu);
  return functions().cuMemCreate(memory, bytes, &properties, 0);
}

Code set_access(Address address, std::size_t bytes, std::span<const int> gpus) {
  std::vector<api::CUmemAccessDesc> access;
  access.reserve(gpus.size());
  for (const int gpu : gpus) access.push_back({{api::location_device, gpu}, api::access_read_write});
  return functions().cuMemSetAccess(address, bytes, access.data(), access.size());
}

Code memory_type(unsigned* type, Address address) {
  return functions().cuPointerGetAttribute(type, api::pointer_attribute_memory_type, address);
}

Code prefetch(Address address, std::size_t bytes, int gpu, StreamHandle stream) {
  return functions().cuMemPrefetchAsync_v2(address, bytes, {api::location_device, gpu}, 0, stream);
}

Driver table(const api::Driver& driver) {
  return {.kind = "cuda",
          .visible_variable = "CUDA_VISIBLE_DEVICES",
          .kernels = &kernels,
          .failure = failure,
          .describe = describe,
          .start = start,
          .version = driver.cuDriverGetVersion,
          .count = driver.cuDeviceGetCount,
          .find = driver.cuDeviceGet,
          .name = driver.cuDeviceGetName,
          .bus_name = driver.cuDeviceGetPCIBusId,
          .uses_host_page_tables = uses_host_page_tables,
          .too_old = why_too_old,
          .closed = why_closed,
          .inspect = inspect,
          .retain_context = driver.cuDevicePrimaryCtxRetain,
          .release_context = driver.cuDevicePrimaryCtxRelease_v2,
          .push_context = driver.cuCtxPushCurrent_v2,
          .pop_context = driver.cuCtxPopCurrent_v2,
          .can_reach = driver.cuDeviceCanAccessPeer,
          .reach = reach,
          .memory_info = driver.cuMemGetInfo_v2,
          .allocate = driver.cuMemAlloc_v2,
          .free = driver.cuMemFree_v2,
          .reserve = driver.cuMemAddressReserve,
          .release = driver.cuMemAddressFree,
          .create_memory = create_memory,
          .release_memory = driver.cuMemRelease,
          .map = driver.cuMemMap,
          .unmap = driver.cuMemUnmap,
          .set_access = set_access,
          .allocate_host = driver.cuMemHostAlloc,
          .free_host = driver.cuMemFreeHost,
          .register_host = driver.cuMemHostRegister_v2,
          .unregister_host = driver.cuMemHostUnregister,
          .address_on_device = driver.cuMemHostGetDevicePointer_v2,
          .memory_type = memory_type,
          .copy_to_device = driver.cuMemcpyHtoDAsync_v2,
          .copy_to_host = driver.cuMemcpyDtoHAsync_v2,
          .copy_on_device = driver.cuMemcpyDtoDAsync_v2,
          .copy_rectangle = driver.cuMemcpy2DAsync_v2,
          .set_bytes = driver.cuMemsetD8Async,
          .prefetch = driver.cuMemPrefetchAsync_v2 == nullptr ? nullptr : prefetch,
          .create_stream = driver.cuStreamCreate,
          .destroy_stream = driver.cuStreamDestroy_v2,
          .synchronize_stream = driver.cuStreamSynchronize,
          .wait_for_event = driver.cuStreamWaitEvent,
          .create_event = driver.cuEventCreate,
          .destroy_event = driver.cuEventDestroy_v2,
          .record_event = driver.cuEventRecord,
          .synchronize_event = driver.cuEventSynchronize,
          .load_module = driver.cuModuleLoadData,
          .unload_module = driver.cuModuleUnload,
          .find_function = driver.cuModuleGetFunction,
          .launch = driver.cuLaunchKernel};
}

}  // namespace

bool driver_is_present() {
  std::string message;
  return std::ranges::any_of(kernel_files, exists) || open_driver(message) != nullptr;
}

const api::Driver& functions() {
  return *loaded.load(std::memory_order_acquire);
}

Result<Driver> load_driver() {
  if (const api::Driver* known = loaded.load(std::memory_order_acquire)) return table(*known);
  std::string message;
  void* library = open_driver(message);
  if (library == nullptr) {
    if (const std::string lack = platform::lack_of_descriptors(); !lack.empty())
      return tl::unexpected(unavailable("the NVIDIA driver cannot be loaded: " + lack));
    return tl::unexpected(
        unavailable(fmt::format("no GPU here: no NVIDIA driver ({}); in a container, start it with GPU access; "
                                "blastoff try -- PROGRAM says what a GPU would gain",
                                message)));
  }
  auto driver = std::make_unique<api::Driver>();
  const char* const missing = find_functions(library, *driver);
  if (missing != nullptr)
    return tl::unexpected(unavailable(
        fmt::format("the NVIDIA driver is too old: libcuda.so.1 lacks {}; 525 or newer is needed", missing)));
  const api::Driver* none = nullptr;
  if (loaded.compare_exchange_strong(none, driver.get())) (void)driver.release();
  return table(functions());
}

}  // namespace blastoff::device::gpu::cuda
