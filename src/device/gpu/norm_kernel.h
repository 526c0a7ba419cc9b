// Sums of magnitudes or squares over the columns or rows of a matrix, or of one of its triangles, on the GPU, in double
// precision: what norms are made of. The same matrix gives the same sums, to the last digit.
#pragma once

#include <cstdint>

#include "blas/types.h"
#include "device/gpu/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::gpu {

class NormKernel : public LoadedKernel<NormKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  enum class Quantity : std::uint32_t { magnitudes, squares, largest_magnitude };

  struct Reduction {
    Quantity quantity = Quantity::magnitudes;
    bool rows = false;  ///< a sum for each row; otherwise for each column
    /// The factor before each element is multiplied by itself or added: a power of two.
    double scale = 1;
    /// How often elements on the diagonal and beside it count.
    double on_diagonal = 1;
    double beside = 1;
    bool real_diagonal = false;  ///< imaginary parts on the diagonal count as 0, whatever is stored there
  };

  /// How many doubles the result has: for each part of the columns or rows, one for each of them.
  static std::size_t result_count(const operation::Operand& matrix, const Reduction& reduction);

  /// Queues the reduction of a matrix that is not empty; the context must be current. `result`: device memory for
  /// result_count() doubles.
  Status launch(const operation::Operand& matrix, blas::Scalar scalar, const Reduction& reduction, Address result,
                StreamHandle stream) const;
};

}  // namespace blastoff::device::gpu
