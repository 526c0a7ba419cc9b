// Copies many short runs of bytes from page-locked host memory with a kernel. The copy engine takes microseconds for
// each run.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "device/device.h"
#include "device/gpu/word_kernels.h"

namespace blastoff::device::gpu {

/// Thread-safe.
class RunCopyKernel {
 public:
  static const WordKernelSource kernel_source;

  /// Host addresses of page-locked memory must be device addresses.
  explicit RunCopyKernel(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  /// Whether the kernel pays for these runs: many, short, and in words of at least 4 bytes.
  static bool suits(std::span<const Run> runs);

  /// Queues the copies; the context must be current. At the first launch the driver compiles the kernels. unsupported:
  /// it cannot compile them, and nothing is queued.
  Status launch(std::span<const Run> runs, StreamHandle stream);

 private:
  Status load();

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  bool tried_ = false;
  std::optional<WordKernels> kernels_;
};

}  // namespace blastoff::device::gpu
