// The check of --verify=sample: random linear functionals of the result, and Parseval's identity. It reads each array
// once (a complex input of real results twice). It needs no copy of the input, and no other arithmetic.
#pragma once

#include <memory>

#include "operation/operation.h"
#include "operation/verification.h"

namespace blastoff::fft {

/// For a result y = F x and weights w, the sum of w y equals the sum of v x, where v = F^T w. The weights are products
/// of plane waves, one for each dimension (Wave), so v is known in closed form, and every element of the result counts
/// alike. The sum of v x is computed before the operation.
///
/// One loop can be left out of the sums: a dimension, if its transform by definition costs less than the sums do, or a
/// loop of independent transforms. Then each step of that loop has a functional of its own, of fewer elements. An error
/// of one element weighs more in it.
///
/// The relative error is the error of a functional divided by the norm of its part of the result, or the error of the
/// whole norm. The bound is 4 epsilon log2 N: rounding errors have random signs, so the error of a functional is about
/// as large as the norm of all rounding errors. An error of one element is found if it is larger than the bound times
/// the norm of its part.
///
/// A result is not checked if its input has numbers that are not finite, or if squares leave the range of double.
std::unique_ptr<operation::Verification> check_by_functional(const operation::Operation& operation);

}  // namespace blastoff::fft
