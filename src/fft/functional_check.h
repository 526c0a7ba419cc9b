// The check of --verify=sample: random linear functionals of the result, and Parseval's identity. It reads each array
// once (a complex input of real results twice), needs no copy of the input, and no arithmetic beyond that.
#pragma once

#include <memory>

#include "operation/operation.h"
#include "operation/verification.h"

namespace blastoff::fft {

/// For a result y = F x and weights w, the sum of w y is the sum of v x, where v = F^T w. The weights are products of
/// plane waves, one for each dimension (Wave), so v is known in closed form, and every element of the result counts
/// alike. The sum of v x is formed before the operation. One dimension is left out of the sums where its transform by
/// definition costs less than they do, or a loop of independent transforms: then there are as many functionals of
/// fewer elements, in which an error of one element weighs more.
///
/// The relative error is that of a functional, in units of the norm of its part of the result, or that of the whole
/// norm. Its bound is 4 epsilon log2 N: rounding errors have random signs, and so the functional's is about as large as
/// their norm. An error of one element stands out where it is larger than the bound times the norm of its part.
///
/// Results are not checked whose numbers are not finite in the input, or whose squares leave the range of double.
std::unique_ptr<operation::Verification> check_by_functional(const operation::Operation& operation);

}  // namespace blastoff::fft
