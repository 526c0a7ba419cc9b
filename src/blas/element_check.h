// The check of --verify=sample for products of a matrix and a vector. It computes a few neighbouring elements of the
// result again.
#pragma once

#include <memory>

#include "blas/call.h"
#include "operation/verification.h"

namespace blastoff::blas {

/// `call` is a product of a matrix and a vector. Each check takes different elements. The error is relative to the sums
/// of magnitudes for these elements.
std::unique_ptr<operation::Verification> check_elements(const Call& call);

}  // namespace blastoff::blas
