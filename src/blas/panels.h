// Cutting a call into independent ones.
#pragma once

#include <cstddef>
#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a call into sub-calls over host addresses. Their results are disjoint, cover the result exactly, and do not
/// depend on each other; each has about `panel_bytes` of result (at least one column or row). gemm, symm, hemm and
/// left-sided trmm and trsm are cut into column panels, right-sided ones into row panels. A triangular result is cut
/// into squares on the diagonal (same kind), each with a gemm beside it; syr2k and her2k, which one gemm cannot
/// compute, and products of a matrix and a vector stay whole. Never empty.
std::vector<Call> panels(const Call& call, std::size_t panel_bytes);

}  // namespace blastoff::blas
