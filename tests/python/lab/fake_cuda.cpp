// A libcuda.so.1 and a libnvrtc.so.13 for the tests of `blastoff lab`. The driver checks every argument, and runs the
// laboratory's own CUDA kernels, which are compiled into this file, on the CPU. The threads of a block take turns and
// switch at __syncthreads. If NVIDIA's headers are installed, the compiler compares these functions with them.
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#if defined(CHECK_HEADERS)
#include <cuda.h>
#include <nvrtc.h>
#undef cuEventElapsedTime
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#else
using CUdeviceptr = unsigned long long;
using CUdevice = int;
using CUresult = int;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUdevice_attribute = int;
using CUmem_advise = int;
struct CUmemLocation {
  int type;
  int id;
};
using nvrtcResult = int;
using nvrtcProgram = struct _nvrtcProgram*;
#endif

struct float2 {
  float x, y;
};

// ---- The kernels, on the CPU.

namespace {

struct Dimensions {
  unsigned x = 1, y = 1;
};
Dimensions gridDim, blockDim, blockIdx, threadIdx;

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(32 << 10);
  bool ended = false;
};
ucontext_t scheduler;
Fiber* current = nullptr;
const std::function<void()>* body = nullptr;

void run_thread() {
  (*body)();
  current->ended = true;
}

void __syncthreads() {
  swapcontext(&current->context, &scheduler);
}

long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

template <typename T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}

void run_block(std::vector<std::unique_ptr<Fiber>>& fibers) {
  for (auto& fiber : fibers) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack.data();
    fiber->context.uc_stack.ss_size = fiber->stack.size();
    fiber->context.uc_link = &scheduler;
    fiber->ended = false;
    makecontext(&fiber->context, run_thread, 0);
  }
  for (bool all_ended = false; !all_ended;) {
    all_ended = true;
    for (unsigned number = 0; number < fibers.size(); ++number) {
      current = fibers[number].get();
      if (current->ended) continue;
      threadIdx = {number % blockDim.x, number / blockDim.x};
      swapcontext(&scheduler, &current->context);
      all_ended = all_ended && current->ended;
    }
  }
}

/// Threads must take turns only if they wait for each other. Otherwise they may run one after the other.
void run_grid(const std::function<void()>& kernel, bool in_turns) {
  body = &kernel;
  const unsigned threads = blockDim.x * blockDim.y;
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (unsigned i = 0; in_turns && i < threads; ++i) fibers.push_back(std::make_unique<Fiber>());
  for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
      if (in_turns) run_block(fibers);
      for (unsigned number = 0; !in_turns && number < threads; ++number) {
        threadIdx = {number % blockDim.x, number / blockDim.x};
        kernel();
      }
    }
  }
}

}  // namespace

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#include "bfs.cu"
#include "daxpy.cu"
#include "hotspot.cu"
#include "needle.cu"
#include "pages.cu"
#include "pathfinder.cu"
#include "srad.cu"
#include "statevector.cu"
#include "stream.cu"

namespace {

template <typename... P, std::size_t... I>
std::function<void()> with_parameters(void (*kernel)(P...), void** parameters, std::index_sequence<I...>) {
  return [=] { kernel(*static_cast<P*>(parameters[I])...); };
}

template <typename... P>
std::function<void(void**)> launcher(void (*kernel)(P...), bool in_turns = false) {
  return [=](void** parameters) {
    run_grid(with_parameters(kernel, parameters, std::index_sequence_for<P...>()), in_turns);
  };
}

const std::map<std::string, std::function<void(void**)>> kernels = {
    {"daxpy", launcher(daxpy)},
    {"stream_copy", launcher(stream_copy)},
    {"stream_mul", launcher(stream_mul)},
    {"stream_add", launcher(stream_add)},
    {"stream_triad", launcher(stream_triad)},
    {"fill", launcher(fill)},
    {"walk", launcher(walk)},
    {"gate", launcher(gate)},
    {"align", launcher(align, true)},
    {"descend", launcher(descend, true)},
    {"expand", launcher(expand)},
    {"heat", launcher(heat)},
    {"first_state", launcher(first_state)},
    {"coefficient", launcher(coefficient)},
    {"exponentiate", launcher(exponentiate)},
    {"diffuse", launcher(diffuse)},
    {"gate_on_parts", launcher(gate_on_parts)},
};

// ---- The driver's state.

constexpr int ok = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, invalid_device = 101,
              invalid_context = 201, invalid_handle = 400, not_found = 500, not_supported = 801;

struct Allocation {
  std::size_t size;
  bool managed;
};
struct Event {
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
};

bool initialized = false;
int retained = 0;
bool context_is_current = false;
std::size_t total_memory = std::size_t{256} << 20;
std::map<CUdeviceptr, Allocation> allocations;
std::set<void*> page_locked;
std::set<std::string*> modules;
std::set<const std::pair<const std::string, std::function<void(void**)>>*> functions;
std::map<CUevent, std::unique_ptr<Event>> events;
std::map<int, int> attributes = {{13, 1000000}, {16, 4}, {18, 0}, {75, 9},  {76, 0},
                                 {83, 1},       {88, 0}, {89, 1}, {100, 0}, {101, 0}};
std::map<std::string, int> failures;
int context_tag = 0;

std::size_t used_memory() {
  std::size_t used = 0;
  for (const auto& [address, allocation] : allocations) used += allocation.managed ? 0 : allocation.size;
  return used;
}

/// An error that the test has requested, or an error because of the order of calls.
int refusal(const char* function, bool needs_context = true) {
  if (const auto found = failures.find(function); found != failures.end()) return found->second;
  if (!initialized) return not_initialized;
  return needs_context && !context_is_current ? invalid_context : ok;
}

/// Whether the bytes lie within one allocation.
bool within(CUdeviceptr address, std::size_t size, bool managed_only = false) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return false;
  const auto& [start, allocation] = *std::prev(after);
  return (allocation.managed || !managed_only) && size > 0 && address + size <= start + allocation.size;
}

int allocate(CUdeviceptr* address, std::size_t size, bool managed) {
  if (address == nullptr || size == 0) return invalid_value;
  if (used_memory() + size > total_memory) return out_of_memory;
  void* memory = std::malloc(size);
  std::memset(memory, 0xA5, std::min(size, std::size_t{8} << 20));  // new memory must not be taken to hold zeros
  *address = reinterpret_cast<CUdeviceptr>(memory);
  allocations[*address] = {size, managed};
  return ok;
}

int prefetch(const char* name, CUdeviceptr address, std::size_t size, bool place_is_known, CUstream stream) {
  if (const int status = refusal(name)) return status;
  const bool reachable = attributes[88] != 0 || within(address, size, true);
  return reachable && place_is_known && stream == nullptr && size > 0 ? ok : invalid_value;
}

}  // namespace

#define RETURN(status) return static_cast<CUresult>(status)
#define CHECK(...) \
  if (const int refused = refusal(__func__ __VA_OPT__(, ) __VA_ARGS__)) RETURN(refused)

extern "C" {

// ---- For the tests.

void fake_set_attribute(int attribute, int value) {
  attributes[attribute] = value;
}
void fake_set_memory(std::size_t size) {
  total_memory = size;
}
void fake_fail(const char* function, int status) {
  failures[function] = status;
}
void fake_work_again() {
  failures.clear();
}
/// Number of allocations, modules, events and references to the context that have not been released.
int fake_leaks() {
  return static_cast<int>(allocations.size() + page_locked.size() + modules.size() + events.size()) + retained;
}

// ---- libcuda.so.1

CUresult cuInit(unsigned int flags) {
  if (failures.count("cuInit") != 0) RETURN(failures["cuInit"]);
  initialized = flags == 0;
  RETURN(initialized ? ok : invalid_value);
}

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  RETURN(ok);
}

CUresult cuDeviceGetCount(int* count) {
  CHECK(false);
  *count = 1;
  RETURN(ok);
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  CHECK(false);
  *device = 0;
  RETURN(ordinal == 0 ? ok : invalid_device);
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  CHECK(false);
  if (length < 16 || device != 0) RETURN(invalid_value);
  std::strcpy(name, "fake GPU");
  RETURN(ok);
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  CHECK(false);
  const auto found = attributes.find(static_cast<int>(attribute));
  if (found == attributes.end() || device != 0) RETURN(invalid_value);
  *value = found->second;
  RETURN(ok);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  CHECK(false);
  if (device != 0) RETURN(invalid_device);
  ++retained;
  *context = reinterpret_cast<CUcontext>(&context_tag);
  RETURN(ok);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  CHECK(false);
  if (device != 0 || retained == 0) RETURN(invalid_context);
  context_is_current = --retained > 0;
  RETURN(ok);
}

CUresult cuCtxSetCurrent(CUcontext context) {
  CHECK(false);
  context_is_current = context == reinterpret_cast<CUcontext>(&context_tag);
  RETURN(context_is_current ? ok : invalid_context);
}

CUresult cuCtxSynchronize(void) {
  CHECK();
  RETURN(ok);
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  CHECK();
  *total = total_memory;
  *free = total_memory - used_memory();
  RETURN(ok);
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t size) {
  CHECK();
  RETURN(allocate(address, size, false));
}

CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t size, unsigned int flags) {
  CHECK();
  RETURN(flags == 1 ? allocate(address, size, true) : invalid_value);
}

CUresult cuMemHostAlloc(void** address, std::size_t size, unsigned int flags) {
  CHECK();
  *address = std::malloc(size);
  if (flags != 3 || *address == nullptr) RETURN(invalid_value);
  page_locked.insert(*address);
  RETURN(ok);
}

CUresult cuMemFreeHost(void* address) {
  CHECK();
  if (page_locked.erase(address) == 0) RETURN(invalid_value);
  std::free(address);
  RETURN(ok);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  CHECK();
  if (allocations.erase(address) == 0) RETURN(invalid_value);
  std::free(reinterpret_cast<void*>(address));
  RETURN(ok);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void* source, std::size_t size) {
  CHECK();
  if (source == nullptr || !within(target, size)) RETURN(invalid_value);
  std::memcpy(reinterpret_cast<void*>(target), source, size);
  RETURN(ok);
}

CUresult cuMemcpyDtoH_v2(void* target, CUdeviceptr source, std::size_t size) {
  CHECK();
  if (target == nullptr || !within(source, size)) RETURN(invalid_value);
  std::memcpy(target, reinterpret_cast<void*>(source), size);
  RETURN(ok);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, std::size_t size, CUstream stream) {
  CHECK();
  if (!within(target, size) || !within(source, size) || stream != nullptr) RETURN(invalid_value);
  std::memcpy(reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), size);
  RETURN(ok);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, std::size_t size, CUmemLocation place, unsigned int flags,
                               CUstream stream) {
  const int type = static_cast<int>(place.type);
  RETURN(prefetch(__func__, address, size, flags == 0 && ((type == 1 && place.id == 0) || type == 2), stream));
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, std::size_t size, CUdevice device, CUstream stream) {
  RETURN(prefetch(__func__, address, size, device == 0 || device == -1, stream));
}

static int advise(const char* name, CUdeviceptr address, std::size_t size, int advice, bool on_device) {
  if (const int status = refusal(name)) return status;
  return within(address, size, true) && ((advice == 3 && !on_device) || (advice == 5 && on_device)) ? ok
                                                                                                    : invalid_value;
}

CUresult cuMemAdvise_v2(CUdeviceptr address, std::size_t size, CUmem_advise advice, CUmemLocation place) {
  const int type = static_cast<int>(place.type);
  if (type != 1 && type != 2) RETURN(invalid_value);
  RETURN(advise(__func__, address, size, static_cast<int>(advice), type == 1));
}

CUresult cuMemAdvise(CUdeviceptr address, std::size_t size, CUmem_advise advice, CUdevice device) {
  RETURN(advise(__func__, address, size, static_cast<int>(advice), device == 0));
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  CHECK();
  auto* text = new std::string(static_cast<const char*>(image));
  if (text->find("__global__") == std::string::npos) RETURN(invalid_value);
  modules.insert(text);
  *module = reinterpret_cast<CUmodule>(text);
  RETURN(ok);
}

CUresult cuModuleUnload(CUmodule module) {
  CHECK();
  auto* text = reinterpret_cast<std::string*>(module);
  if (modules.erase(text) == 0) RETURN(invalid_handle);
  delete text;
  RETURN(ok);
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  CHECK();
  auto* text = reinterpret_cast<std::string*>(module);
  if (modules.count(text) == 0) RETURN(invalid_handle);
  const auto found = kernels.find(name);
  if (found == kernels.end() || text->find(" " + std::string(name) + "(") == std::string::npos) RETURN(not_found);
  functions.insert(&*found);
  *function = const_cast<CUfunction>(reinterpret_cast<const CUfunc_st*>(&*found));
  RETURN(ok);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  CHECK();
  const auto* kernel = reinterpret_cast<const std::pair<const std::string, std::function<void(void**)>>*>(function);
  if (functions.count(kernel) == 0) RETURN(invalid_handle);
  if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || block_z != 1) RETURN(invalid_value);
  if (block_x * block_y == 0 || block_x * block_y > 1024 || shared_bytes != 0) RETURN(invalid_value);
  if (stream != nullptr || parameters == nullptr || extra != nullptr) RETURN(invalid_value);
  gridDim = {grid_x, grid_y};
  blockDim = {block_x, block_y};
  kernel->second(parameters);
  RETURN(ok);
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
  CHECK();
  if (flags != 0) RETURN(invalid_value);
  auto state = std::make_unique<Event>();
  *event = reinterpret_cast<CUevent>(state.get());
  events[*event] = std::move(state);
  RETURN(ok);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  CHECK();
  const auto found = events.find(event);
  if (found == events.end() || stream != nullptr) RETURN(invalid_handle);
  *found->second = {true, std::chrono::steady_clock::now()};
  RETURN(ok);
}

CUresult cuEventSynchronize(CUevent event) {
  CHECK();
  const auto found = events.find(event);
  RETURN(found != events.end() && found->second->recorded ? ok : invalid_handle);
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent second) {
  CHECK();
  if (events.count(first) == 0 || events.count(second) == 0) RETURN(invalid_handle);
  const Event &begin = *events[first], &end = *events[second];
  if (!begin.recorded || !end.recorded) RETURN(invalid_handle);
  *milliseconds = std::chrono::duration<float, std::milli>(end.time - begin.time).count();
  RETURN(ok);
}

CUresult cuEventDestroy_v2(CUevent event) {
  CHECK();
  RETURN(events.erase(event) == 1 ? ok : invalid_handle);
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_TEST";
  RETURN(ok);
}

CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "words of the driver";
  RETURN(ok);
}

// ---- libnvrtc.so.13. Its machine code is the source itself, which the driver above recognises.

#undef RETURN
#define RETURN(status) return static_cast<nvrtcResult>(status)

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  RETURN(0);
}

nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  RETURN(0);
}

nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  RETURN(0);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int headers,
                               const char* const* contents, const char* const* names) {
  if (name == nullptr || headers != 0 || contents != nullptr || names != nullptr) RETURN(3);
  *program = reinterpret_cast<nvrtcProgram>(new std::string(source));
  RETURN(0);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete reinterpret_cast<std::string*>(*program);
  *program = nullptr;
  RETURN(0);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (program == nullptr || count != 2) RETURN(3);
  const std::string target = options[0];
  if (target != "--gpu-architecture=sm_90" && target != "--gpu-architecture=compute_90") RETURN(5);
  RETURN(reinterpret_cast<std::string*>(program)->find("__global__") == std::string::npos ? 6 : 0);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  *size = reinterpret_cast<std::string*>(program)->size() + 1;
  RETURN(0);
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  std::strcpy(code, reinterpret_cast<std::string*>(program)->c_str());
  RETURN(0);
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, std::size_t* size) {
  return nvrtcGetCUBINSize(program, size);
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) {
  return nvrtcGetCUBIN(program, code);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, std::size_t* size) {
  *size = 22;
  RETURN(0);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) {
  std::strcpy(log, "words of the compiler");
  RETURN(0);
}

}  // extern "C"
