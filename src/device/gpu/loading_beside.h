// Opens the libraries of a GPU's operations while the context is made.
#pragma once

#include <atomic>
#include <memory>

#include "device/gpu/executor.h"

namespace blastoff::device::gpu {

/// A thread opens the libraries while the caller makes the context. The context takes 100 ms on an H200 node. The
/// libraries take 50 ms, or 250 ms if they are read from disk.
///
/// A caller that is itself within dlopen(), in the constructor of a library, holds the lock of the dynamic linker. The
/// thread then waits for that lock, and the caller does not wait for the thread.
class LoadingBeside {
 public:
  explicit LoadingBeside(std::shared_ptr<ExecutorLibraries> libraries);
  ~LoadingBeside() { wait(); }
  LoadingBeside(const LoadingBeside&) = delete;
  LoadingBeside& operator=(const LoadingBeside&) = delete;

  /// Waits until the libraries are opened. If the thread has not begun, returns at once, and the thread does not begin
  /// any more.
  void wait();

 private:
  enum class State : int { waiting, loading, over };

  const std::shared_ptr<std::atomic<State>> state_ = std::make_shared<std::atomic<State>>(State::waiting);
};

}  // namespace blastoff::device::gpu
