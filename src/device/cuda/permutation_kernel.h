// Permutes the indices of a tensor on the GPU.
#pragma once

#include <memory>
#include <utility>

#include "device/address.h"
#include "device/cuda/word_kernels.h"
#include "device/permutation.h"

namespace blastoff::device::cuda {

class PermutationKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<PermutationKernel>> load(std::shared_ptr<Context> context);

  /// Queues the permutation; the context must be current.
  Status launch(Address destination, Address source, const Permutation& permutation, api::CUstream stream) const;

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  explicit PermutationKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  WordKernels kernels_;
};

}  // namespace blastoff::device::cuda
