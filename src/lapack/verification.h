// --verify: checks the result of an offloaded LAPACK routine as LAPACK's own testers do.
#pragma once

#include <memory>

#include "operation/operation.h"
#include "operation/verification.h"

namespace blastoff::lapack {

/// Checks with two random vectors, in O(n^2) operations: the residual of a solution, the reconstruction of a
/// factorization, residual and orthogonality of eigenvectors and singular vectors. All tests are of backward stability,
/// so they hold for ill-conditioned problems too. The check keeps products of the input with the vectors. It keeps a
/// whole matrix only if eigenvectors replace it.
///
/// The relative error is about ||E|| / ||A|| in the Frobenius norm, where E is the error of the tested identity: for a
/// random vector x of mean square 1, ||E x||^2 equals ||E||^2 on average. The bound is 8 (max(m, n) + 8) epsilon.
/// LAPACK's testers (LAPACK Working Note 41, sections 4 to 6) accept 30 max(m, n) epsilon. Results of netlib's LAPACK
/// stay below an eighth of this bound, except for syevr, whose bound is 100 (max(m, n) + 8) epsilon. An error of a
/// single element is found if it is larger than the bound times the norm of the matrix.
///
/// Some results can be checked only in part:
/// - least squares: the reflectors' factors tau are not returned; those that fit best are taken;
/// - least squares by singular values: that the residual is smallest and has the length of the rows below the
///   solution, and that the rank fits the singular values, not that the solution is the one of least norm;
/// - some eigenvalues without vectors: their order, and that none is larger than the matrix;
/// - eigenvalues of pairs of matrices without vectors: their order, and that Rayleigh quotients lie among them;
/// - eigenvalues of a range with vectors: it is not checked that these are the eigenvalues of the range or, for a range
///   of values, that they are all of them;
/// - singular values without vectors: their order, and the norm of all; with the vectors of one side: their squares,
///   too.
/// isuppz, ifail and the returned sizes of work space are not checked.
std::unique_ptr<operation::Verification> verify(const operation::Operation& operation);

}  // namespace blastoff::lapack
