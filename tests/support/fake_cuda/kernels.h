// Blastoff's own kernels on the fake GPU: the sources of src/device/gpu/cuda/kernels, compiled for the CPU.
#pragma once

#include <functional>
#include <string_view>

namespace blastoff::fake_cuda {

struct Index {
  unsigned x = 0;
  unsigned y = 0;
};

}  // namespace blastoff::fake_cuda

namespace blastoff::device::gpu {

struct NativeFunction {
  std::string_view name;
  /// Copies the arguments of a launch; the result runs the kernel.
  std::function<std::function<void()>(fake_cuda::Index blocks, fake_cuda::Index threads, void** arguments)> bind;
};

}  // namespace blastoff::device::gpu

namespace blastoff::fake_cuda {

/// The kernel of a name, or null.
device::gpu::NativeFunction* find_kernel(std::string_view name);

}  // namespace blastoff::fake_cuda
