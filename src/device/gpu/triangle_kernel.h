// Copies one triangle of a matrix, or of the blocks on its diagonal, with a kernel, to device memory or to mapped host
// memory. Writes nothing else.
#pragma once

#include <cstdint>

#include "device/gpu/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::gpu {

struct TriangleCopy {
  Address destination = 0;
  Address source = 0;
  std::size_t destination_pitch = 0;  ///< bytes
  std::size_t source_pitch = 0;       ///< bytes
  std::int64_t order = 0;             ///< of the matrix
  std::int64_t block_order = 0;       ///< of the blocks on the diagonal; `order` or more: one block
  std::size_t element_size = 0;       ///< bytes
  operation::Part part = operation::Part::upper;
};

class TriangleKernel : public LoadedKernel<TriangleKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the copy; the context must be current. Addresses and pitches must be multiples of 4.
  Status launch(const TriangleCopy& copy, StreamHandle stream) const;
};

}  // namespace blastoff::device::gpu
