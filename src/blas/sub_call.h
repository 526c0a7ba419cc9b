// Makes the same call for a part of its result, over host addresses.
#pragma once

#include <vector>

#include "blas/call.h"
#include "blas/element_address.h"

namespace blastoff::blas {

/// Columns of the result of gemm, or of a left-sided call. The whole of A is needed.
Call columns_of(const Call& call, Range columns);

/// Rows of the result of gemm, or of a right-sided call. gemm needs the whole of B, the others the whole of A.
Call rows_of(const Call& call, Range rows);

/// A square on the diagonal of a triangular result: a call of the same kind.
Call diagonal_square(const Call& call, Range columns);

/// A rectangle of a triangular result, off the diagonal: one gemm; for syr2k and her2k, a second one that must be made
/// after the first.
std::vector<Call> rectangle(const Call& call, Range rows, Range columns);

/// Returns the rows above or below the square of these columns in a triangular result.
inline Range beside_square(const Call& call, Range columns) {
  return call.uplo == Uplo::upper ? Range{0, columns.begin} : Range{columns.end, call.n};
}

}  // namespace blastoff::blas
