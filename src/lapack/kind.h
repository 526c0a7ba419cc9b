// What a kind of LAPACK routine is. rows/ has a row for each.
#pragma once

#include <memory>
#include <string_view>

#include "lapack/problem.h"
#include "lapack/shapes.h"
#include "lapack/work_space.h"
#include "operation/verification.h"

namespace blastoff::lapack {

/// The routines that a device computes in one way, and that are checked in one way.
enum class Family : std::uint8_t {
  cholesky,
  lu,
  triangle,
  indefinite,  ///< symmetric, also if complex: A = L D L^T with blocks of one or two rows in D
  orthogonal,
  row_exchange,
  copy,
  norm,
  least_squares,
  least_norm,  ///< least squares by singular values
  eigenproblem,
  generalized_eigenproblem,
  reduction,  ///< of a generalized eigenproblem to an ordinary one
  singular_values,
  general_eigenproblem,
};

/// What a routine does with a factorization.
enum class Action : std::uint8_t {
  none,  ///< nothing, or something else
  factor,
  solve,
  factor_and_solve,
  invert,
  generate,  ///< the orthogonal factor
  multiply,  ///< by the orthogonal factor
};

/// What the vector w holds.
enum class Values : std::uint8_t { eigenvalues, complex_eigenvalues, singular_values };

/// The sizes of a problem as real numbers.
struct Sizes {
  explicit Sizes(const Problem& of)
      : problem(of),
        m(static_cast<double>(of.m)),
        n(static_cast<double>(of.n)),
        k(static_cast<double>(of.k)),
        low(m < n ? m : n),
        high(m < n ? n : m) {}

  const Problem& problem;
  double m;
  double n;
  double k;
  double low;
  double high;

  double cube() const { return n * n * n; }
};

/// Products of the three sides of a problem.
namespace sides {
inline double cube(const Sizes& of) {
  return of.cube();
}
inline double solve(const Sizes& of) {
  return of.n * of.n * of.k;
}
inline double rectangle(const Sizes& of) {
  return of.m * of.n * of.low;
}
inline double reflectors(const Sizes& of) {
  return of.m * of.n * of.k;
}
}  // namespace sides

/// Counts of floating-point operations that several kinds share.
namespace counts {
inline double eigenproblem(const Sizes& of) {
  return of.problem.wants_vectors() ? 9 * of.cube() : 4 * of.cube() / 3;
}
inline double generalized_eigenproblem(const Sizes& of) {
  return (of.problem.wants_vectors() ? 12 : 3) * of.cube();
}
/// Reduction to a bidiagonal matrix.
inline double bidiagonal(const Sizes& of) {
  return 4 * of.low * of.low * (of.high - of.low / 3);
}
inline double singular_values(const Sizes& of) {
  if (of.problem.wants_singular_vectors()) return (4 * of.high + 22 * of.low) * of.low * of.low;
  return bidiagonal(of);
}
}  // namespace counts

struct KindRow {
  using Shape = MatrixShape (*)(const Problem&);
  using Count = double (*)(const Sizes&);
  using Condition = bool (*)(const Problem&);

  Kind kind{};
  Family family{};
  Action action = Action::none;

  /// In the routine's order, for all types; see is_passed().
  ArgumentList arguments;
  std::string_view jobs = "nv";  ///< accepted letters for job and job_right
  bool any_uplo = false;         ///< letters but u and l stand for the whole matrix
  bool adjoint_only = false;     ///< trans must be n, or t for real and c for complex matrices
  /// Further conditions of LAPACK's for the sizes.
  Condition sizes_accepted = nullptr;
  /// Whether a device can compute this form of the routine; null: each form.
  Condition supported = nullptr;
  WorkSizes (*work_space)(const Problem&) = &work_space::none;

  Shape a = &shapes::unused;
  Shape b = &shapes::unused;
  Shape z = &shapes::unused;
  Shape right = &shapes::unused;
  bool packed = false;         ///< a and b are packed triangles and have no leading dimension
  bool factors_given = false;  ///< ipiv and tau are input
  bool returns_value = false;  ///< the routine is a function; its value is a real number
  Values values = Values::eigenvalues;

  /// Counts real floating-point operations for real matrices, by LAPACK Working Note 41 and Golub and Van Loan, Matrix
  /// Computations. Null: the routine moves numbers or looks at each once, and belongs where its matrix is.
  Count flops = nullptr;
  Count sides = &sides::cube;
  /// A problem is judged like a product of this many times the order. Measured by bench/lapack.py on an H200 node
  /// against OpenBLAS on 16 cores. Packed and indefinite problems were not measured, and are judged like the
  /// others. The factorization of an indefinite one on a GPU goes on by one or two columns at a time.
  double relative_size = 1.25;

  /// LAPACK does not change matrices that are only input, not even for a time.
  bool keeps_input = false;
  /// With NaN in the matrix, netlib's routine never ends (gesvd) or ends the program (geev).
  bool harmed_by_nan = false;
  /// LAPACK scales matrices whose squares would overflow or vanish. Libraries of devices do not, and cuSOLVER has been
  /// seen to destroy the context.
  bool scales = false;

  /// See verification.h.
  std::unique_ptr<operation::Verification> (*check)(const operation::Operation&) = nullptr;
  /// The largest error that is accepted, in multiples of the order and the machine epsilon. syevr computes eigenvectors
  /// from relatively robust representations, which are less orthogonal than others (Demmel, Marques, Parlett, Voemel,
  /// LAPACK Working Note 183).
  double tolerance = 8;
};

}  // namespace blastoff::lapack
