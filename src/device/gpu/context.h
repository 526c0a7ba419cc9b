// The GPU's primary context, which Blastoff shares with the program's own code for it, and its state.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "device/error.h"
#include "device/gpu/driver.h"

namespace blastoff::device::gpu {

/// Shared by a device and by its queues, events and memory. Thread-safe.
class Context {
 public:
  /// Retains the primary context of a GPU.
  static Result<std::shared_ptr<Context>> retain(const Driver& driver, int gpu);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  int gpu() const { return gpu_; }

  /// Runs `work`, which returns a Status, with this context current; the thread's own context is current again
  /// afterwards. Fails at once if the device has been lost.
  template <class Work>
  Status run(Work&& work) {
    if (lost_.load(std::memory_order_relaxed)) return tl::unexpected(lost_error());
    if (auto entered = enter(); !entered) return entered;
    Status status = work();
    leave();
    return status;
  }

  /// Makes this context the thread's current one, until leave().
  Status enter() { return check(driver_.push_context(handle_), "entering the context"); }
  void leave() {
    ContextHandle own = nullptr;
    driver_.pop_context(&own);
  }

  /// Whether work of this context can use the memory of the other one; if so, permits it. (The program shares both
  /// contexts. If it asks the driver for the same afterwards, the driver answers that it has been done.)
  bool reach(const Context& other);

  /// Translates a result of the driver. Every error except lack of memory or of support loses the device.
  Status check(Code result, std::string_view operation) {
    if (result == success) [[likely]]
      return {};
    return tl::unexpected(fail(result, operation));
  }

  /// The same for operations whose arguments come from the program's memory (registering it, for example). Only an
  /// error that has destroyed the context loses the device; any other error means unsupported.
  Status check_attempt(Code result, std::string_view operation);

  /// Marks the device as lost, after an error of a library that leaves its state in doubt.
  Error lose(std::string message);

 private:
  Context(const Driver& driver, int gpu, ContextHandle handle) : driver_(driver), gpu_(gpu), handle_(handle) {}

  Error fail(Code result, std::string_view operation);
  Error lost_error();

  const Driver driver_;
  const int gpu_;
  const ContextHandle handle_;
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::string cause_;
};

}  // namespace blastoff::device::gpu
