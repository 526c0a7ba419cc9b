// Cutting a call into parts for several devices.
#pragma once

#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a level-3 call into at most `count` parts of about equal work over host addresses, which may be made at the
/// same time. A part is a call, or a few that are to be made in this order. The results of the parts are disjoint and
/// cover the result exactly; no part reads what another writes. The cut depends on shapes and addresses alone.
///
/// gemm is cut by columns, or by rows where a part then reads much less; beyond four parts both ways, where that is
/// less still. symm, hemm, trmm and trsm are cut along the side on which A does not stand. A triangular result is cut
/// into block columns of equal area: a square on the diagonal (same kind), with a gemm beside it, or two. Strips begin
/// on a page of their own, where one begins near the even cut. Empty where the call cannot be cut.
std::vector<std::vector<Call>> parts(const Call& call, int count);

}  // namespace blastoff::blas
