// The libraries of a GPU's operations, opened while the context is made.
#pragma once

#include <atomic>
#include <memory>

#include "device/cuda/executor.h"

namespace blastoff::device::cuda {

/// A thread of ours opens them while the caller makes the context. That takes 100 ms on an H200 node, and the libraries
/// 50, or 250 where they are read from disk.
///
/// A caller that is itself within dlopen(), in the constructor of a library, holds the lock of the dynamic linker. The
/// thread then waits for that lock, and the caller does not wait for the thread.
class LoadingBeside {
 public:
  explicit LoadingBeside(std::shared_ptr<ExecutorLibraries> libraries);
  ~LoadingBeside() { wait(); }
  LoadingBeside(const LoadingBeside&) = delete;
  LoadingBeside& operator=(const LoadingBeside&) = delete;

  /// Until they are opened; not at all if the thread has not begun with it, which it then does not any more.
  void wait();

 private:
  enum class State : int { waiting, loading, over };

  const std::shared_ptr<std::atomic<State>> state_ = std::make_shared<std::atomic<State>>(State::waiting);
};

}  // namespace blastoff::device::cuda
