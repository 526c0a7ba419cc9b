// Multiplies the reals of a matrix by a factor, on the GPU.
#pragma once

#include <cstddef>

#include "device/gpu/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::gpu {

class ScaleKernel : public LoadedKernel<ScaleKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the multiplication; the context must be current. `real_bytes`: 4 or 8; an element is one real or several.
  /// Nothing between the columns is touched.
  Status launch(const operation::Operand& matrix, std::size_t real_bytes, double factor, StreamHandle stream) const;
};

}  // namespace blastoff::device::gpu
