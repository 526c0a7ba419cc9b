// Permutes the indices of a tensor on the GPU.
#pragma once

#include "device/address.h"
#include "device/gpu/word_kernels.h"
#include "device/permutation.h"

namespace blastoff::device::gpu {

class PermutationKernel : public LoadedKernel<PermutationKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the permutation; the context must be current.
  Status launch(Address destination, Address source, const Permutation& permutation, StreamHandle stream) const;
};

}  // namespace blastoff::device::gpu
