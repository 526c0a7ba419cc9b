// Cutting a call whose operands are larger than device memory into calls that fit.
#pragma once

#include <cstddef>
#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a level-3 call into sub-calls over host addresses that do the same when they are made in this order, each with
/// the results of those before it in host memory. A result may be updated by several of them. The operand that a
/// sub-call needs whole on the device (the first one; of syr2k and her2k all) takes at most half of `bytes`; the others
/// pass through the other half in panels. The matrix that takes most passes is cut into as few as possible. {call} if
/// it fits as it is, and for products of a matrix and a vector. Never empty.
std::vector<Call> blocks(const Call& call, std::size_t bytes);

}  // namespace blastoff::blas
