// Kernels that compute with a matrix on the GPU, or copy it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blas/types.h"
#include "device/gpu/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::gpu {

/// Sums of magnitudes or squares over the columns or rows of a matrix, or of one of its triangles, in double precision:
/// what norms are made of. The same matrix gives the same sums, to the last digit.
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

/// Finds the largest magnitude among the reals of a matrix, or of one of its triangles. NaN counts as larger than
/// infinity.
class MagnitudeKernel : public LoadedKernel<MagnitudeKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the search; the context must be current. `result` is a 64-bit word in device memory that only grows: the
  /// bits of the largest magnitude so far, see value(). A matrix that is not square must have the part `full`.
  Status launch(const operation::Operand& matrix, blas::Scalar scalar, Address result, StreamHandle stream) const;

  /// Converts the bits of a result to the real number.
  static double value(std::uint64_t bits, blas::Scalar scalar);
};

/// Transposes a matrix; complex elements are conjugated.
class TransposeKernel : public LoadedKernel<TransposeKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the transposition; the context must be current. `to` has as many rows as `from` has columns, and as many
  /// columns as `from` has rows.
  Status launch(const operation::Operand& to, const operation::Operand& from, blas::Scalar scalar,
                StreamHandle stream) const;
};

/// Multiplies the reals of a matrix by a factor.
class ScaleKernel : public LoadedKernel<ScaleKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the multiplication; the context must be current. `real_bytes`: 4 or 8; an element is one real or several.
  /// Nothing between the columns is touched.
  Status launch(const operation::Operand& matrix, std::size_t real_bytes, double factor, StreamHandle stream) const;
};

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

/// Copies one triangle of a matrix, or of the blocks on its diagonal, to device memory or to mapped host memory. Writes
/// nothing else.
class TriangleKernel : public LoadedKernel<TriangleKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the copy; the context must be current. Addresses and pitches must be multiples of 4.
  Status launch(const TriangleCopy& copy, StreamHandle stream) const;
};

}  // namespace blastoff::device::gpu
