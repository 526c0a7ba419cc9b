// Cutting a call whose operands are larger than device memory into calls that fit.
#pragma once

#include <cstddef>
#include <vector>

#include "blas/call.h"

namespace blastoff::blas {

/// Cuts a level-3 call into sub-calls over host addresses, in series that do the same as the call when they are made in
/// this order, each with the results of those before it in host memory. The sub-calls of one series do not depend on
/// each other, and are of one routine. A result may be updated by several series. The operand that a sub-call needs
/// whole on the device (the first one; of syr2k and her2k all) takes at most half of `bytes`; the others pass through
/// the other half in panels. The matrix that takes most passes is cut into as few as possible. {{call}} if it fits as
/// it is, and for products of a matrix and a vector. Never empty, and no series is.
std::vector<std::vector<Call>> blocks(const Call& call, std::size_t bytes);

}  // namespace blastoff::blas
