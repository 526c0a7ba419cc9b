// The state of the fake GPU, and the functions of its driver that its libraries use.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <dlfcn.h>

#include "device/gpu/cuda/api.h"
#include "device/simulated/memory.h"
#include "fake_cuda/stream.h"

namespace blastoff::device::gpu {

// The types to which the opaque handles point.
struct NativeStream {
  fake_cuda::Stream stream;
};
struct NativeEvent {
  std::shared_ptr<fake_cuda::Event> event = std::make_shared<fake_cuda::Event>();
};

}  // namespace blastoff::device::gpu

namespace blastoff::fake_cuda {

using device::gpu::cuda::api::CUresult;

constexpr CUresult error_invalid_value = 1;
constexpr CUresult error_invalid_context = 201;
constexpr CUresult error_uncorrectable = 214;
constexpr CUresult error_not_found = 500;
constexpr CUresult error_illegal_address = 700;
constexpr CUresult error_already_registered = 712;
constexpr CUresult error_not_registered = 713;

/// One GPU with 1 GiB of memory. After an illegal access every call fails with that error, as on a real GPU.
class Gpu {
 public:
  /// Never destroyed, because streams may run until the process ends.
  static Gpu& instance();

  device::simulated::Memory memory{std::size_t{1} << 30, false};

  CUresult sticky() const { return sticky_; }
  void fail(CUresult error) { sticky_ = error; }

  CUresult register_host(const void* address, std::size_t bytes);
  CUresult unregister_host(const void* address);
  enum class Registered { none, partly, whole };
  /// How much of a range of host memory lies within one registration.
  Registered registered(const void* address, std::size_t bytes);

 private:
  std::atomic<CUresult> sticky_{0};
  std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> registrations_;
};

/// The functions that the fake libraries take from the fake driver.
struct Services {
  bool (*context_is_current)();
  bool (*is_device_memory)(const void* address, std::size_t bytes);
  bool (*is_usable)(const void* address, std::size_t bytes);  ///< whether an operation may use it
  void (*post)(device::gpu::cuda::api::CUstream stream, std::function<void()> task);
  void (*fail)(CUresult error);
  /// For the fate of members of a team (driver.cpp): this process is such a member.
  void (*join)(int member);
  /// Such an event happens. Returns whether the GPU is lost.
  bool (*meet)(const char* event);
};

}  // namespace blastoff::fake_cuda

extern "C" const blastoff::fake_cuda::Services* fake_cuda_services();

namespace blastoff::fake_cuda {

inline const Services& driver() {
  static const auto* const services = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<decltype(&fake_cuda_services)>(dlsym(library, "fake_cuda_services"))();
  }();
  return *services;
}

/// Prints when it is, by CLOCK_MONOTONIC.
inline void say_when(const char* event) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::fprintf(stderr, "%s at %.6f\n", event,
               static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
}

/// The number that a test has set.
inline int wanted(const char* variable, int otherwise = 0) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace blastoff::fake_cuda
