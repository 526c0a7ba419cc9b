// Cuts a call into parts for several devices.
#pragma once

#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a level-3 call into at most `count` parts of about equal work over host addresses. The parts may run at the
/// same time. A part is one call, or a few calls that are made in this order. The results of the parts are disjoint and
/// cover the result exactly; no part reads what another part writes. The cut depends on shapes and addresses alone.
///
/// gemm is cut by columns, or by rows if a part then reads much less. Beyond four parts it is cut both ways, if that is
/// less still. A batch is cut between its products. symm, hemm, trmm and trsm are cut along the side on which A does
/// not stand. A triangular result is cut into block columns of equal area: a square on the diagonal (same kind), and
/// one or two gemm for the rectangle beside it. A strip begins at a page boundary if there is one near the even cut.
/// Empty if the call cannot be cut.
std::vector<std::vector<Call>> parts(const Call& call, int count);

}  // namespace blastoff::blas
