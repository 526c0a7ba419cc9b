// Cuts a call whose operands are larger than device memory into calls that fit.
#pragma once

#include <cstddef>
#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a level-3 call into sub-calls over host addresses. Returns series of sub-calls. Made in this order, the series
/// do the same as the call; each series finds the results of the earlier series in host memory. The sub-calls of one
/// series do not depend on each other, and are of one routine. Several series may update the same result. A sub-call
/// needs its first operand whole on the device (syr2k and her2k: all operands). That takes at most half of `bytes`; the
/// other operands pass through the other half in panels. The matrix that takes most passes is cut into as few blocks as
/// possible. A batch is cut between its products; if a single product does not fit, its blocks are those of a gemm.
/// Returns {{call}} if the call fits as it is, and for products of a matrix and a vector. Neither the list
/// nor a series is ever empty.
std::vector<std::vector<Call>> blocks(const Call& call, std::size_t bytes);

}  // namespace blastoff::blas
