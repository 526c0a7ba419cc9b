#include "fake_hip/hip_device.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "blas/front_end.h"
#include "device/gpu/choose_gpu.h"
#include "device/gpu/gpu_device.h"
#include "reference_blas.h"

namespace blastoff::fake_hip {
namespace {

using namespace device::gpu;  // NOLINT: the table's own words
using device::Address;
using device::Choice;
using device::Error;
using device::ErrorKind;
using device::Result;
using device::Status;

void* pointer(Address address) {
  return reinterpret_cast<void*>(address);
}
Address address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}
std::optional<Hip> loaded;

// HIP has no contexts: a thread has a current device. The table's handle is the number of the device, plus one.
thread_local std::vector<int> earlier;

Code push_context(ContextHandle context) {
  int device = 0;
  hip().hipGetDevice(&device);
  earlier.push_back(device);
  return hip().hipSetDevice(static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1);
}
Code pop_context(ContextHandle*) {
  const int device = earlier.back();
  earlier.pop_back();
  return hip().hipSetDevice(device);
}
Code retain_context(ContextHandle* context, int gpu) {
  *context = reinterpret_cast<ContextHandle>(static_cast<std::uintptr_t>(gpu) + 1);
  return hipSuccess;
}
Code reach(ContextHandle other) {
  const auto device = static_cast<int>(reinterpret_cast<std::uintptr_t>(other)) - 1;
  const Code result = hip().hipDeviceEnablePeerAccess(device, 0);
  return result == hipErrorPeerAccessAlreadyEnabled ? success : result;
}

Failure failure(Code code) {
  switch (code) {
    case hipErrorOutOfMemory: return Failure::out_of_memory;
    case hipErrorNotSupported: return Failure::unsupported;
    case hipErrorNotInitialized:
    case hipErrorInvalidDevice:
    case hipErrorInvalidContext:
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorUnknown: return Failure::fatal;
    default: return Failure::refused;
  }
}

Result<int> start() {
  int count = 0;
  Code code = hip().hipInit(0);
  if (code == hipSuccess) code = hip().hipGetDeviceCount(&count);
  if (code == hipSuccess && count > 0) return count;
  return tl::unexpected(Error{ErrorKind::unavailable, "HIP finds no GPU"});
}

hipMemAllocationProp memory_on(int gpu) {
  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location = {hipMemLocationTypeDevice, gpu};
  return properties;
}

void inspect(const Driver& driver, int gpu, const Choice&, Gpu& found) {
  device::Properties& properties = found.properties;
  properties.software = "HIP";
  hip().hipDeviceTotalMem(&properties.total_memory, gpu);
  properties.can_pin = true;
  const auto memory = memory_on(gpu);
  hip().hipMemGetAllocationGranularity(&properties.backing_granularity, &memory, 0);
  properties.largest_reservation = probe_largest_reservation(driver, properties.backing_granularity);
  properties.can_reserve = true;
  found.capabilities.largest_pitch = 0x7fffffff;
}

constexpr KernelModules kernels{"code object", "code object", "code object", "code object",
                                "code object", "code object", "code object"};

Driver table() {
  return {
      .kind = "hip",
      .visible_variable = "HIP_VISIBLE_DEVICES",
      .kernels = &kernels,
      .failure = failure,
      .describe =
          [](Code code) { return fmt::format("{} ({})", hip().hipGetErrorName(code), hip().hipGetErrorString(code)); },
      .start = start,
      .version = hip().hipDriverGetVersion,
      .count = hip().hipGetDeviceCount,
      .find = hip().hipDeviceGet,
      .name = hip().hipDeviceGetName,
      .bus_name = hip().hipDeviceGetPCIBusId,
      .uses_host_page_tables = [](int) { return false; },
      .too_old = [](int) { return std::string(); },
      .closed = [](int) { return std::string(); },
      .inspect = inspect,
      .retain_context = retain_context,
      .release_context = [](int) { return hipSuccess; },
      .push_context = push_context,
      .pop_context = pop_context,
      .can_reach = hip().hipDeviceCanAccessPeer,
      .reach = reach,
      .memory_info = hip().hipMemGetInfo,
      .allocate =
          [](Address* address, std::size_t bytes) {
            void* memory = nullptr;
            const Code code = hip().hipMalloc(&memory, bytes);
            *address = address_of(memory);
            return code;
          },
      .free = [](Address address) { return hip().hipFree(pointer(address)); },
      .reserve =
          [](Address* address, std::size_t bytes, std::size_t alignment, Address wanted, unsigned long long flags) {
            void* reserved = nullptr;
            const Code code = hip().hipMemAddressReserve(&reserved, bytes, alignment, pointer(wanted), flags);
            *address = address_of(reserved);
            return code;
          },
      .release = [](Address address, std::size_t bytes) { return hip().hipMemAddressFree(pointer(address), bytes); },
      .create_memory =
          [](AllocationHandle* memory, std::size_t bytes, int gpu) {
            const auto properties = memory_on(gpu);
            hipMemGenericAllocationHandle_t created = nullptr;
            const Code code = hip().hipMemCreate(&created, bytes, &properties, 0);
            *memory = address_of(created);
            return code;
          },
      .release_memory =
          [](AllocationHandle memory) {
            return hip().hipMemRelease(reinterpret_cast<hipMemGenericAllocationHandle_t>(memory));
          },
      .map =
          [](Address address, std::size_t bytes, std::size_t offset, AllocationHandle memory,
             unsigned long long flags) {
            return hip().hipMemMap(pointer(address), bytes, offset,
                                   reinterpret_cast<hipMemGenericAllocationHandle_t>(memory), flags);
          },
      .unmap = [](Address address, std::size_t bytes) { return hip().hipMemUnmap(pointer(address), bytes); },
      .set_access =
          [](Address address, std::size_t bytes, std::span<const int> gpus) {
            std::vector<hipMemAccessDesc> access;
            for (const int gpu : gpus)
              access.push_back({{hipMemLocationTypeDevice, gpu}, hipMemAccessFlagsProtReadWrite});
            return hip().hipMemSetAccess(pointer(address), bytes, access.data(), access.size());
          },
      .allocate_host = hip().hipHostMalloc,
      .free_host = hip().hipHostFree,
      .register_host = hip().hipHostRegister,
      .unregister_host = hip().hipHostUnregister,
      .address_on_device =
          [](Address* address, void* host, unsigned flags) {
            void* there = nullptr;
            const Code code = hip().hipHostGetDevicePointer(&there, host, flags);
            *address = address_of(there);
            return code;
          },
      .memory_type =
          [](unsigned* type, Address address) {
            hipPointerAttribute_t attributes{};
            const Code code = hip().hipPointerGetAttributes(&attributes, pointer(address));
            *type = static_cast<unsigned>(attributes.type);
            return code;
          },
      .copy_to_device =
          [](Address to, const void* from, std::size_t bytes, StreamHandle stream) {
            return hip().hipMemcpyAsync(pointer(to), from, bytes, hipMemcpyHostToDevice, stream);
          },
      .copy_to_host =
          [](void* to, Address from, std::size_t bytes, StreamHandle stream) {
            return hip().hipMemcpyAsync(to, pointer(from), bytes, hipMemcpyDeviceToHost, stream);
          },
      .copy_on_device =
          [](Address to, Address from, std::size_t bytes, StreamHandle stream) {
            return hip().hipMemcpyAsync(pointer(to), pointer(from), bytes, hipMemcpyDeviceToDevice, stream);
          },
      .copy_rectangle = hip().hipMemcpyParam2DAsync,
      .set_bytes = [](Address to, unsigned char value, std::size_t bytes,
                      StreamHandle stream) { return hip().hipMemsetD8Async(pointer(to), value, bytes, stream); },
      .prefetch = nullptr,
      .create_stream = hip().hipStreamCreateWithFlags,
      .destroy_stream = hip().hipStreamDestroy,
      .synchronize_stream = hip().hipStreamSynchronize,
      .wait_for_event = hip().hipStreamWaitEvent,
      .create_event = hip().hipEventCreateWithFlags,
      .destroy_event = hip().hipEventDestroy,
      .record_event = hip().hipEventRecord,
      .synchronize_event = hip().hipEventSynchronize,
      .load_module = hip().hipModuleLoadData,
      .unload_module = hip().hipModuleUnload,
      .find_function = hip().hipModuleGetFunction,
      .launch = hip().hipModuleLaunchKernel,
  };
}

Result<Driver> load_driver() {
  if (loaded) return table();
  void* const library = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return tl::unexpected(Error{ErrorKind::unavailable, "no HIP here"});
  loaded.emplace();
#define BLASTOFF_RESOLVE(symbol, ...) \
  loaded->symbol = reinterpret_cast<decltype(loaded->symbol)>(dlsym(library, #symbol));
  FAKE_HIP_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  return table();
}

/// Computes on the CPU in the order of the stream.
class HostExecutor final : public Executor {
 public:
  explicit HostExecutor(const ExecutorStream& stream) : context_(stream.context), stream_(stream.stream) {}

  Status execute(const operation::Operation& operation) override {
    auto* const call = new blas::Call(blas::call_of(operation));
    const auto compute = [](void* data) {
      const std::unique_ptr<blas::Call> own(static_cast<blas::Call*>(data));
      reference::compute(*own);
    };
    return context_->check(hip().hipLaunchHostFunc(stream_, compute, call), "hipLaunchHostFunc");
  }
  bool copies_heap_memory(const operation::Operation&) const override { return false; }

 private:
  const std::shared_ptr<Context> context_;
  const StreamHandle stream_;
};

class HostLibrary final : public ExecutorLibrary {
 public:
  std::string version() const override { return "reference BLAS"; }
  Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const override {
    return std::make_unique<HostExecutor>(stream);
  }
};

constexpr std::array executors{ExecutorKind{
    .runs = blas::is_blas,
    .open = [](const LibrarySearch&) -> Result<std::unique_ptr<ExecutorLibrary>> {
      return std::make_unique<HostLibrary>();
    },
    .computes = "BLAS",
}};

}  // namespace

const Hip& hip() {
  return *loaded;
}

device::Result<std::unique_ptr<device::Device>> open(const device::Choice& choice) {
  return device::gpu::open(load_driver, executors, choice);
}

}  // namespace blastoff::fake_hip
