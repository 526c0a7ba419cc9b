// The same call on a part of its result, over host addresses.
#pragma once

#include <vector>

#include "blas/call.h"
#include "blas/element_address.h"

namespace blastoff::blas {

/// Columns of the result of gemm, or of a left-sided call: A is needed whole.
Call columns_of(const Call& call, Range columns);

/// Rows of the result of gemm, whose B is needed whole, or of a right-sided call, whose A is.
Call rows_of(const Call& call, Range rows);

/// The square of a triangular result on the diagonal: a call of the same kind.
Call diagonal_square(const Call& call, Range columns);

/// A rectangle of a triangular result, off the diagonal: a gemm, and of syr2k and her2k a second one, which is to be
/// made after the first.
std::vector<Call> rectangle(const Call& call, Range rows, Range columns);

/// Beside the square of these columns in a triangular result: the rows above or below it.
inline Range beside_square(const Call& call, Range columns) {
  return call.uplo == Uplo::upper ? Range{0, columns.begin} : Range{columns.end, call.n};
}

}  // namespace blastoff::blas
