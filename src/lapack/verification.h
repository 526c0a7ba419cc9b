// --verify: checks the result of an offloaded LAPACK routine as LAPACK's own testers do.
#pragma once

#include <memory>

#include "operation/operation.h"
#include "operation/verification.h"

namespace blastoff::lapack {

/// Checks with two random vectors, in O(n^2) operations: the residual of a solution, the reconstruction of a
/// factorization, residual and orthogonality of eigenvectors and singular vectors. All tests are of backward stability:
/// they hold for ill-conditioned problems too. Of the input it keeps products with the vectors; the whole matrix only
/// where eigenvectors replace it.
///
/// The relative error is about ||E|| / ||A|| in the Frobenius norm, E the error of the tested identity: a random vector
/// x of mean square 1 makes ||E x||^2 equal to ||E||^2 on average. Its bound is 8 (max(m, n) + 8) epsilon. LAPACK's
/// testers (LAPACK Working Note 41, sections 4 to 6) accept 30 max(m, n) epsilon; results of netlib's LAPACK stay below
/// an eighth of this bound, but for syevr: its bound is 100 (max(m, n) + 8) epsilon. An error of one element stands out
/// where it is larger than the bound times the norm of the matrix.
///
/// Less is known where a result tells less:
/// - least squares: the reflectors' factors tau, which are not returned, are those that fit best;
/// - some eigenvalues without vectors: their order, and that none is larger than the matrix;
/// - eigenvalues of pairs of matrices without vectors: their order, and that Rayleigh quotients lie among them;
/// - eigenvalues of a range with vectors: not that they are those of the range, or, for one of values, not that they
///   are all in it;
/// - singular values without vectors: their order, and the norm of all; with those of one side: their squares, too.
/// isuppz, ifail and the returned sizes of work space are not looked at.
std::unique_ptr<operation::Verification> verify(const operation::Operation& operation);

}  // namespace blastoff::lapack
