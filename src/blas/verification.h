// --verify: compares the result of an offloaded call with the CPU's.
#pragma once

#include <memory>

#include "blas/call.h"
#include "operation/host.h"
#include "operation/verification.h"

namespace blastoff::blas {

/// Compares elementwise. The relative error is the largest |difference| over |alpha| ||row of op(A)|| ||column of
/// op(B)|| + |beta| |c|. Its bound is 8 (k + 8) epsilon. The error of a product is bounded elementwise by k epsilon |A|
/// |B| (Higham, Accuracy and Stability of Numerical Algorithms, 3.5), and by Cauchy-Schwarz by these norms. A solve is
/// judged by its residual, op(A) X against alpha B, because its forward error depends on the condition of A. A call is
/// not checked if `host` cannot compute it.
std::unique_ptr<operation::Verification> verify(const Call& call, const operation::Host& host);

}  // namespace blastoff::blas
