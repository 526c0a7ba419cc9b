// A libcuda.so.1 for machines without a GPU: the part of the driver that device/gpu uses, in host memory, with a
// thread for each stream. It enforces the real driver's rules (a current context, copies within one registration), and
// detects, where it can, misuse that causes errors with the real driver.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

#include "device/simulated/copy.h"
#include "fake_cuda/gpu.h"
#include "fake_cuda/kernels.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in the driver's own words
using blastoff::device::gpu::NativeContext;
using blastoff::device::gpu::NativeEvent;
using blastoff::device::gpu::NativeModule;
using blastoff::device::gpu::NativeStream;
using blastoff::device::simulated::copy_columns;
using blastoff::fake_cuda::error_illegal_address;
using blastoff::fake_cuda::error_invalid_context;
using blastoff::fake_cuda::error_invalid_value;
using blastoff::fake_cuda::error_not_found;
using blastoff::fake_cuda::error_uncorrectable;
using blastoff::fake_cuda::find_kernel;
using blastoff::fake_cuda::Gpu;
using blastoff::fake_cuda::Services;
using blastoff::fake_cuda::wanted;

namespace blastoff::device::gpu {
struct NativeContext {
  CUdevice device = 0;
};
struct NativeModule {
  const char* ptx;  ///< null: of another kind
};
}  // namespace blastoff::device::gpu

namespace {

constexpr std::size_t granularity = blastoff::device::simulated::granularity;

std::array<NativeContext, 16> primary_contexts;

/// A thread's contexts. Nothing is destroyed, since exit handlers use the driver after the first thread's objects have
/// gone.
struct ContextStack {
  std::array<CUcontext, 64> contexts;
  std::size_t depth;

  bool empty() const { return depth == 0; }
  CUcontext back() const { return contexts.at(depth - 1); }
  void push_back(CUcontext context) { contexts.at(depth++) = context; }
  void pop_back() { --depth; }
};
constinit thread_local ContextStack context_stack = {};

void* pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}
std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

bool context_is_current() {
  return !context_stack.empty() && context_stack.back() != nullptr;
}

/// Every function that works on a context calls this first.
CUresult enter() {
  if (!context_is_current()) return error_invalid_context;
  return Gpu::instance().sticky();
}

CUresult result_of(const blastoff::device::Status& status) {
  if (status) return success;
  return status.error().kind == blastoff::device::ErrorKind::out_of_memory ? error_out_of_memory : error_invalid_value;
}

bool is_device_memory(const void* address, std::size_t bytes) {
  return Gpu::instance().memory.holds(number(address), bytes);
}

/// FAKE_GPU_ACCESS=pageable, coherent, hidden or unified: the GPU accesses the program's own memory; "" otherwise.
/// hidden: as coherent, and the driver keeps the GPU's own memory to itself, so that it is no NUMA node.
std::string_view host_access() {
  const char* const form = std::getenv("FAKE_GPU_ACCESS");
  return form == nullptr ? "" : form;
}

/// Mapped memory, and the GPUs that may use it.
struct Mapping {
  std::size_t bytes = 0;
  std::set<CUdevice> users;
};
std::mutex mappings_mutex;
std::map<CUdeviceptr, Mapping> mappings;

/// Whether the current context's GPU may use those of these bytes that were mapped.
bool may_use(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mappings_mutex);
  return std::ranges::all_of(mappings, [&](const auto& each) {
    const auto& [begin, mapping] = each;
    const bool apart = begin + mapping.bytes <= address || address + bytes <= begin;
    return apart || mapping.users.contains(context_stack.back()->device);
  });
}

/// FAKE_GPU_COUNT: the number of GPUs, which share their memory.
int number_of_gpus() {
  return wanted("FAKE_GPU_COUNT", 1);
}

/// FAKE_GPU_MULTIPROCESSORS: their number; 0 without it, so that nobody knows the GPU's peak.
int multiprocessors() {
  return wanted("FAKE_GPU_MULTIPROCESSORS");
}

/// FAKE_GPU_INIT_MS, FAKE_GPU_CONTEXT_MS: the time that the start of the driver takes, and the creation of a context.
void take_time(const char* variable) {
  std::this_thread::sleep_for(std::chrono::milliseconds(wanted(variable)));
}

/// FAKE_GPU_OPENINGS=FILE: a plus is appended to the file when the driver begins to start in a process, and a minus
/// when it has started.
void note_opening(char what) {
  const char* const path = std::getenv("FAKE_GPU_OPENINGS");
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, &what, 1) != 1) std::abort();
  close(file);
}

/// FAKE_GPU_EXCLUSIVE=FILE: the GPU is in exclusive compute mode, and the process that uses it locks the file.
const char* exclusive_to() {
  return std::getenv("FAKE_GPU_EXCLUSIVE");
}

/// The exit handler has run, which destroys the driver's state.
std::atomic<bool> gone{false};
std::atomic<int> threads_that_end{0};

/// What the driver keeps for each thread that uses it. FAKE_GPU_THREAD_END_MS: its end takes this time, during which
/// the driver's state must be there.
struct OwnState {
  bool used = false;
  ~OwnState() {
    if (!used || std::getenv("FAKE_GPU_THREAD_END_MS") == nullptr) return;
    if (gone) __builtin_trap();
    ++threads_that_end;
    take_time("FAKE_GPU_THREAD_END_MS");
    --threads_that_end;
  }
};
thread_local OwnState own_state;

/// Whether this process may use the GPU.
bool is_ours() {
  static const bool ours = [] {
    const char* const path = exclusive_to();
    return path == nullptr || flock(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX | LOCK_NB) == 0;
  }();
  return ours;
}

std::atomic<int> own_member{-1};  // of a team

/// FAKE_TEAM_LOSES="MEMBER EVENT NUMBER": the member of a team loses its GPU at so many events of a kind since the team
/// has formed: in or out (a copy, half of which is made), call or end (of a call that all members make), own (a product
/// of this process). FAKE_TEAM_DIES: it is killed. It says when.
bool meet(const char* event) {
  static std::mutex mutex;
  static auto& counts = *new std::map<std::string, int>;
  if (own_member >= 0) {
    const std::lock_guard lock(mutex);
    const std::string now = std::to_string(own_member) + " " + event + " " + std::to_string(++counts[event]);
    const auto is_fate = [&](const char* variable) {
      const char* const fate = std::getenv(variable);
      return fate != nullptr && fate == now;
    };
    if (is_fate("FAKE_TEAM_DIES")) {
      blastoff::fake_cuda::say_when("dies");
      raise(SIGKILL);
    }
    if (is_fate("FAKE_TEAM_LOSES")) {
      blastoff::fake_cuda::say_when("loses");
      Gpu::instance().fail(error_uncorrectable);
    }
  }
  return Gpu::instance().sticky() != success;
}

bool is_usable(const void* address, std::size_t bytes) {
  return is_device_memory(address, bytes) || !host_access().empty();
}

struct Side {
  void* address;
  std::size_t pitch;
  bool on_device;
};

/// Queues a copy of one rectangle, or copies at once where a side is ordinary memory, as the driver does.
CUresult queue_copy(CUstream stream, Side to, Side from, std::size_t width, std::size_t height) {
  if (const auto error = enter(); error != success) return error;
  const auto span = [=](const Side& side) { return (height - 1) * side.pitch + width; };
  for (const Side& side : {to, from})
    if (side.on_device && !may_use(number(side.address), span(side))) Gpu::instance().fail(error_illegal_address);
  bool wait = false;
  for (const Side& side : {to, from}) {
    if (side.on_device) continue;
    const auto registered = Gpu::instance().registered(side.address, span(side));
    if (registered == Gpu::Registered::partly) return error_invalid_value;
    wait = wait || registered == Gpu::Registered::none;
  }
  stream->stream.post([=] {
    if (Gpu::instance().sticky() != success) return;
    for (const Side& side : {to, from}) {
      if (!side.on_device || is_device_memory(side.address, span(side))) continue;
      Gpu::instance().fail(error_illegal_address);
      return;
    }
    const bool lost = to.on_device != from.on_device && meet(to.on_device ? "in" : "out");
    copy_columns(to.address, to.pitch, from.address, from.pitch, lost ? width / 2 : width, height);
  });
  if (wait) stream->stream.synchronize();
  return Gpu::instance().sticky();
}

/// The stream of a handle; nullptr means the default stream. The others are non-blocking, so they are not ordered with
/// it.
blastoff::fake_cuda::Stream& stream_of(CUstream stream) {
  static auto* const default_stream = new NativeStream;
  return (stream == nullptr ? default_stream : stream)->stream;
}

/// Sets `count` words of 1 or 4 bytes, `pitch` bytes apart.
CUresult queue_set(CUstream stream, CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t word_bytes,
                   std::size_t count) {
  if (const auto error = enter(); error != success) return error;
  stream->stream.post([=] {
    if (!is_device_memory(pointer(to), (count - 1) * pitch + word_bytes)) {
      Gpu::instance().fail(error_illegal_address);
      return;
    }
    for (std::size_t i = 0; i < count; ++i) std::memcpy(pointer(to + i * pitch), &value, word_bytes);
  });
  return success;
}

}  // namespace

extern "C" {

const Services* fake_cuda_services() {
  static const Services services{
      context_is_current,
      is_device_memory,
      is_usable,
      [](CUstream stream, std::function<void()> task) { stream_of(stream).post(std::move(task)); },
      [](CUresult error) { Gpu::instance().fail(error); },
      [](int member) { own_member = member; },
      meet};
  return &services;
}

CUresult cuInit(unsigned) {
  // A driver is slow to start, and has an exit handler that destroys its state.
  own_state.used = true;
  std::atexit([] {
    gone = true;
    if (threads_that_end > 0) __builtin_trap();
  });
  note_opening('+');
  take_time("FAKE_GPU_INIT_MS");
  note_opening('-');
  if (gone) __builtin_trap();
  return success;
}
CUresult cuDriverGetVersion(int* version) {
  *version = wanted("FAKE_GPU_CUDA", 13000);  // 12000: too old for libcublas.so.13
  return success;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == error_out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_FAKE_GPU";
  return success;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an error of the fake GPU";
  return success;
}

/// If there are several GPUs, they share one memory and one context.
CUresult cuDeviceGetCount(int* count) {
  *count = number_of_gpus();
  return success;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < number_of_gpus() ? success : 101;
}
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  std::snprintf(text, static_cast<std::size_t>(length), "FACADE:%02X:00.0", static_cast<unsigned>(device));
  return success;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "fake GPU", static_cast<std::size_t>(length));
  return success;
}
CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice) {
  switch (attribute) {
    case attribute_max_pitch: *value = 0x7fffffff; break;
    case attribute_compute_capability_major: *value = 9; break;
    case attribute_clock_rate: *value = 1'000'000; break;
    case attribute_multiprocessor_count: *value = multiprocessors(); break;
    case attribute_compute_mode: *value = exclusive_to() == nullptr ? 0 : compute_mode_exclusive_process; break;
    case attribute_can_use_host_pointer:
    case attribute_host_register_supported:
    case attribute_virtual_memory_management: *value = 1; break;
    case attribute_pageable_memory_access: *value = !host_access().empty(); break;
    case attribute_uses_host_page_tables: *value = !host_access().empty() && host_access() != "pageable"; break;
    case attribute_integrated: *value = host_access() == "unified"; break;
    case attribute_numa_config: *value = host_access() == "coherent" ? numa_config_node : 0; break;
    default: *value = 0;
  }
  return success;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = Gpu::instance().memory.total();
  return success;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  take_time("FAKE_GPU_CONTEXT_MS");
  *context = &primary_contexts.at(static_cast<std::size_t>(device));
  (*context)->device = device;
  return is_ours() ? Gpu::instance().sticky() : error_device_unavailable;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return success;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = context_stack.empty() ? nullptr : context_stack.back();
  return success;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  own_state.used = true;
  context_stack.push_back(context);
  return success;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (context_stack.empty()) return error_invalid_context;
  *context = context_stack.back();
  context_stack.pop_back();
  return success;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  *can = device != peer && std::getenv("FAKE_GPU_NO_PEERS") == nullptr;
  return success;
}
/// Succeeds once for each pair; the second time the driver says that access is already enabled.
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned flags) {
  static std::atomic<bool> enabled{false};
  if (flags != 0) return error_invalid_value;
  return enabled.exchange(true) ? error_peer_access_already_enabled : success;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = Gpu::instance().memory.unused();
  *total = Gpu::instance().memory.total();
  return enter();
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (const auto error = enter(); error != success) return error;
  const auto allocated = Gpu::instance().memory.allocate(bytes);
  *address = allocated.value_or(0);
  return allocated ? success : error_out_of_memory;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  if (const auto error = enter(); error != success) return error;
  return Gpu::instance().memory.free(address) ? success : error_invalid_value;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  const auto reserved = Gpu::instance().memory.reserve(bytes);
  *address = reserved.value_or(0);
  return reserved ? success : error_out_of_memory;
}
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return Gpu::instance().memory.release(address, bytes) ? success : error_invalid_value;
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*, int) {
  *bytes = granularity;
  return success;
}
// Memory is allocated when it is mapped, so a handle is only the size.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  if (properties->type != allocation_pinned || properties->location.type != location_device) return error_invalid_value;
  if (bytes > Gpu::instance().memory.unused()) return error_out_of_memory;
  *handle = bytes;
  return success;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle) {
  return success;
}
CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  if (offset != 0 || handle != bytes) return error_invalid_value;
  const CUresult result = result_of(Gpu::instance().memory.back(address, bytes));
  const std::lock_guard lock(mappings_mutex);
  if (result == success) mappings[address] = {bytes, {}};
  return result;
}
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  {
    const std::lock_guard lock(mappings_mutex);
    mappings.erase(address);
  }
  return Gpu::instance().memory.unback(address, bytes) ? success : error_invalid_value;
}
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access, std::size_t count) {
  const std::lock_guard lock(mappings_mutex);
  const auto mapping = mappings.find(address);
  if (mapping == mappings.end() || mapping->second.bytes != bytes) return error_invalid_value;
  for (const CUmemAccessDesc& each : std::span(access, count)) {
    if (each.flags != access_read_write || each.location.type != location_device) return error_invalid_value;
    mapping->second.users.insert(each.location.id);
  }
  return success;
}

CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  if (const auto error = enter(); error != success) return error;
  *address = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*address == nullptr) return error_out_of_memory;
  return Gpu::instance().register_host(*address, bytes);
}
CUresult cuMemFreeHost(void* address) {
  const auto error = Gpu::instance().unregister_host(address);
  if (error == success) std::free(address);
  return error;
}
CUresult cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  if (const auto error = enter(); error != success) return error;
  return Gpu::instance().register_host(address, bytes);
}
CUresult cuMemHostUnregister(void* address) {
  return Gpu::instance().unregister_host(address);
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
  *device = number(host);
  return Gpu::instance().registered(host, 1) == Gpu::Registered::whole ? success : error_invalid_value;
}
CUresult cuPointerGetAttribute(void* value, int, CUdeviceptr address) {
  const bool host = Gpu::instance().registered(pointer(address), 1) == Gpu::Registered::whole;
  if (!host && !is_device_memory(pointer(address), 1)) return error_invalid_value;
  const unsigned type = host ? memory_type_host : memory_type_device;
  std::memcpy(value, &type, sizeof type);
  return success;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t, CUmemLocation location, unsigned flags, CUstream) {
  if (const auto error = enter(); error != success) return error;
  if (host_access().empty() || address == 0 || location.type != location_device || flags != 0)
    return error_invalid_value;
  return success;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return queue_copy(stream, {pointer(to), bytes, true}, {const_cast<void*>(from), bytes, false}, bytes, 1);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return queue_copy(stream, {to, bytes, false}, {pointer(from), bytes, true}, bytes, 1);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return queue_copy(stream, {pointer(to), bytes, true}, {pointer(from), bytes, true}, bytes, 1);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  constexpr std::size_t largest_pitch = 0x7fffffff;
  if (copy->source_pitch > largest_pitch || copy->destination_pitch > largest_pitch) return error_invalid_value;
  if (copy->source_pitch < copy->width_bytes || copy->destination_pitch < copy->width_bytes) return error_invalid_value;
  const auto side = [](int type, void* host, CUdeviceptr device, std::size_t pitch) {
    if (type == memory_type_host) return Side{host, pitch, false};
    return Side{pointer(device), pitch, type == memory_type_device || is_device_memory(pointer(device), 1)};
  };
  return queue_copy(stream,
                    side(copy->destination_type, copy->destination_host, copy->destination, copy->destination_pitch),
                    side(copy->source_type, const_cast<void*>(copy->source_host), copy->source, copy->source_pitch),
                    copy->width_bytes, copy->height);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return queue_set(stream, to, 1, value, 1, count);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height,
                            CUstream stream) {
  return width == 1 ? queue_set(stream, to, pitch, value, 4, height) : error_invalid_value;
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (const auto error = enter(); error != success) return error;
  if (flags != stream_non_blocking && flags != stream_default) return error_invalid_value;
  *stream = new NativeStream;
  return success;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return success;
}
CUresult cuStreamSynchronize(CUstream stream) {
  stream_of(stream).synchronize();
  return enter();
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const auto record = event->event->last_record();
  stream->stream.post([state = event->event, record] { state->wait_for(record); });
  return enter();
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  if (const auto error = enter(); error != success) return error;
  if (flags != event_disable_timing) return error_invalid_value;
  *event = new NativeEvent;
  return success;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return success;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  const auto record = event->event->record();
  stream->stream.post([state = event->event, record] { state->reach(record); });
  return enter();
}
CUresult cuEventSynchronize(CUevent event) {
  event->event->wait_for(event->event->last_record());
  return enter();
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = new NativeModule{static_cast<const char*>(image)};
  return enter();
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return success;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  *function = find_kernel(name);
  const bool there =
      module->ptx == nullptr || std::strstr(module->ptx, (".entry " + std::string(name) + "(").c_str()) != nullptr;
  return *function != nullptr && there ? success : error_not_found;
}
CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned, unsigned threads, unsigned,
                        unsigned, unsigned, CUstream stream, void** arguments, void**) {
  if (const auto error = enter(); error != success) return error;
  stream->stream.post(function->bind({blocks_x, blocks_y}, {threads, 1}, arguments));
  return success;
}

}  // extern "C"

// All functions of the driver that device/gpu uses are here, with the same types.
#define BLASTOFF_CHECK(symbol, ...) static_assert(std::is_same_v<decltype(::symbol), __VA_ARGS__>, #symbol);
BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_CHECK)
