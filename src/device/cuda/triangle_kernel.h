// Copies one triangle of a matrix, or of the blocks on its diagonal, with a kernel, to device memory or to mapped host
// memory. Writes nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "device/cuda/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::cuda {

struct TriangleCopy {
  api::CUdeviceptr destination = 0;
  api::CUdeviceptr source = 0;
  std::size_t destination_pitch = 0;  ///< bytes
  std::size_t source_pitch = 0;       ///< bytes
  std::int64_t order = 0;             ///< of the matrix
  std::int64_t block_order = 0;       ///< of the blocks on the diagonal; `order` or more: one block
  std::size_t element_size = 0;       ///< bytes
  operation::Part part = operation::Part::upper;
};

class TriangleKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<TriangleKernel>> load(std::shared_ptr<Context> context);

  /// Queues the copy; the context must be current. Addresses and pitches must be multiples of 4.
  Status launch(const TriangleCopy& copy, api::CUstream stream) const;

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  explicit TriangleKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  WordKernels kernels_;
};

}  // namespace blastoff::device::cuda
