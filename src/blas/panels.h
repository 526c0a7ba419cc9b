// Cuts a call into independent calls.
#pragma once

#include <cstddef>
#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a call into sub-calls over host addresses. Their results are disjoint, cover the result exactly, and do not
/// depend on each other. Each has about `panel_bytes` of result (at least one column or row). gemm, symm, hemm and
/// left-sided trmm and trsm are cut into panels of columns, right-sided calls into panels of rows. A triangular result
/// is cut into squares on the diagonal (same kind), each with a gemm for the rectangle beside it. A batch is cut
/// between its products; one of a single product, as gemm is. Products of a matrix and a vector stay whole, and so do
/// syr2k and her2k, for whose rectangles one gemm is not enough. Never empty.
std::vector<Call> panels(const Call& call, std::size_t panel_bytes);

}  // namespace blastoff::blas
