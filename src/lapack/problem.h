// The problem that a LAPACK call states, apart from the memory that it works on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lapack/arguments.h"
#include "lapack/routine.h"
#include "operation/operation.h"

namespace blastoff::lapack {

/// The payload of a LAPACK operation. Letters are small. A letter or size that the routine lacks is 0.
struct Problem {
  Routine routine{};
  std::uint8_t integer_bytes = 4;  ///< size of pivots and other integer results
  std::uint8_t itype = 0;
  char uplo = 0;
  char trans = 0;
  char diag = 0;
  char side = 0;
  char job = 0;  ///< norms: m (largest element), 1 or o, i, f or e (Frobenius)
  char job_right = 0;
  char range = 0;
  std::int8_t incx = 0;  ///< laswp: 1, or -1 for the exchanges in reverse order; 0: another one
  std::int64_t m = 0;    ///< rows; equal to n for routines of a square matrix. laswp: those from the first row that is
                         ///< exchanged to the last one
  std::int64_t n = 0;
  std::int64_t k = 0;   ///< right-hand sides, or reflectors. laswp: the rows above those that are exchanged
  std::int64_t il = 0;  ///< range i: the numbers of the first and the last eigenvalue, from 1. laswp: k1 and k2
  std::int64_t iu = 0;
  double vl = 0;  ///< range v: eigenvalues in (vl, vu]
  double vu = 0;
  double abstol = 0;       ///< least squares: rcond
  std::int64_t ldz = 0;    ///< range v: elements from one eigenvector to the next
  std::int64_t lwork = 0;  ///< elements of the caller's work space
  std::int64_t lrwork = 0;
  std::int64_t liwork = 0;

  Kind kind() const { return row(routine).kind; }
  blas::Scalar scalar() const { return row(routine).scalar; }
  std::size_t element_bytes() const { return blas::element_size(scalar()); }
  /// Bytes of a real number in the routine's precision.
  std::size_t real_bytes() const { return blas::is_complex(scalar()) ? element_bytes() / 2 : element_bytes(); }

  bool wants_vectors() const { return job == 'v'; }
  bool wants_singular_vectors() const { return job != 'n' || job_right != 'n'; }
  bool upper() const { return uplo == 'u'; }
  /// For copies: the triangle, or the whole matrix if uplo names none.
  operation::Part part_of_matrix() const {
    return uplo == 'u' ? operation::Part::upper : uplo == 'l' ? operation::Part::lower : operation::Part::full;
  }
  /// Whether the routine moves numbers or looks at each once. Its flops count as 0 then.
  bool belongs_to_matrix() const;
  /// Whether a device may give up. What only moves numbers cannot fail.
  bool may_fail() const;
  /// See operation::Operation: the routine computes eigenvectors or singular vectors.
  bool has_several_results() const;
  bool returns_value() const;
  bool packed() const;
  /// The number of eigenvalues that are computed. For range v, where the number is known only afterwards, the largest
  /// possible number.
  std::int64_t eigenvalues() const { return range == 'i' ? iu - il + 1 : n; }
  /// Least squares: singular values up to this times the largest count as 0.
  double rcond() const { return abstol; }
  bool counts_afterwards() const { return range == 'v'; }
  std::int64_t min_side() const { return m < n ? m : n; }
};

/// A matrix argument: which elements the routine uses, and whether it reads or writes them. Zero rows: the routine does
/// not use it. A packed triangle is one column.
struct MatrixShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  operation::Part part = operation::Part::full;
  operation::Intent intent = operation::Intent::read;
};

/// A small vector or scalar in host memory.
struct VectorShape {
  std::size_t element_bytes = 0;
  std::int64_t count = 0;
  operation::Intent intent = operation::Intent::write;
};

/// `argument` is a matrix of the routine. LAPACK destroys some matrices that are only input; here they count as read
/// only.
MatrixShape matrix_shape(const Problem& problem, Argument argument);
/// `argument` is a vector of the routine.
VectorShape vector_shape(const Problem& problem, Argument argument);
/// Returns how many bytes of a vector are written if `found` eigenvalues were found.
std::size_t result_bytes(const Problem& problem, Argument argument, std::int64_t found);

/// operand_index(): the index of a matrix among the operands of the operation. vector_index(): the index of a vector
/// among its vectors.
std::size_t operand_index(Routine routine, Argument argument);
std::size_t vector_index(Routine routine, Argument argument);

/// Whether the number of eigenvectors is known only afterwards. The program then promises only memory for the
/// eigenvectors that are found. So they are not an operand, but the last vector of the operation.
bool has_eigenvectors_afterwards(const Problem& problem);
std::size_t eigenvectors_index(Routine routine);

/// The value of a function is the last vector of the operation, too.
std::size_t value_index(Routine routine);

/// Counts real floating-point operations, by LAPACK Working Note 41 and Golub and Van Loan, Matrix Computations.
double flops(const Problem& problem);
/// Returns Work::volume: the volume of a product that gains as much from the device. The cube root of the volume is the
/// depth.
double volume(const Problem& problem);
operation::Work work(const Problem& problem);

/// Options and sizes in the routine's own order: "L n=2000 nrhs=10".
std::string text(const Problem& problem);

operation::FrontEnd& lapack();
bool is_lapack(const operation::Operation& operation);

}  // namespace blastoff::lapack
