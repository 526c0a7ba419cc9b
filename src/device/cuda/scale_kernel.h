// Multiplies the reals of a matrix by a factor, on the GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "device/cuda/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::cuda {

class ScaleKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<ScaleKernel>> load(std::shared_ptr<Context> context);

  /// Queues the multiplication; the context must be current. `real_bytes`: 4 or 8; an element is one real or several.
  /// Nothing between the columns is touched.
  Status launch(const operation::Operand& matrix, std::size_t real_bytes, double factor, api::CUstream stream) const;

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  explicit ScaleKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  WordKernels kernels_;
};

}  // namespace blastoff::device::cuda
