// Cutting a call into independent ones.
#pragma once

#include <cstddef>
#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a call into sub-calls over host addresses whose results are disjoint, cover the result exactly, and do not
/// depend on each other, each of about `panel_bytes` of result (at least one column or row of it). Column panels for
/// gemm, symm, hemm and left-sided trmm and trsm; row panels for right-sided ones; for triangular results each panel is
/// a square on the diagonal (same kind) and a gemm beside it (syr2k and her2k, which one gemm cannot do, stay whole).
/// Never empty.
std::vector<Call> panels(const Call& call, std::size_t panel_bytes);

}  // namespace blastoff::blas
