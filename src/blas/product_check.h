// The check of --verify=sample: multiplies the result by a random vector (Freivalds). It reads each matrix once or
// twice, and needs no arithmetic of order three.
#pragma once

#include <memory>

#include "blas/call.h"
#include "operation/verification.h"

namespace blastoff::blas {

/// Whether the check is possible for a kind of call: level 3, but not gemmt, and not a batch as a whole.
bool has_product_check(Kind kind);

/// The error is the difference of the two products, relative to the Frobenius norms of the matrices in them. Each check
/// uses a different vector. A call is not checked if squares of its numbers leave the range of double, or if a solve
/// gives numbers that are not finite: A may be singular.
std::unique_ptr<operation::Verification> check_by_products(const Call& call);

}  // namespace blastoff::blas
