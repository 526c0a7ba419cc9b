#include "calls.h"

#include <complex>
#include <string_view>
#include <utility>

using namespace blastoff::blas;

// The functions are declared without arguments and called through pointers of the right type.
#define DECLARE(name, kind, scalar)        \
  extern "C" [[gnu::weak]] void name##_(); \
  extern "C" [[gnu::weak]] void cblas_##name();
BLASTOFF_ROUTINES(DECLARE)
#undef DECLARE

namespace coherence {
namespace {

struct Names {
  void* fortran;
  void* cblas;
};
const Names names[] = {
#define NAMES(name, kind, scalar) {reinterpret_cast<void*>(&name##_), reinterpret_cast<void*>(&cblas_##name)},
    BLASTOFF_ROUTINES(NAMES)
#undef NAMES
};

char letter(Side side) {
  return side == Side::left ? 'L' : 'R';
}
char letter(Uplo uplo) {
  return uplo == Uplo::upper ? 'U' : 'L';
}
char letter(Transpose transpose) {
  return transpose == Transpose::none ? 'N' : transpose == Transpose::transpose ? 'T' : 'C';
}
char letter(Diagonal diagonal) {
  return diagonal == Diagonal::unit ? 'U' : 'N';
}

// The values of CBLAS's enumerations.
int number(Side side) {
  return side == Side::left ? 141 : 142;
}
int number(Uplo uplo) {
  return uplo == Uplo::upper ? 121 : 122;
}
int number(Transpose transpose) {
  return transpose == Transpose::none ? 111 : transpose == Transpose::transpose ? 112 : 113;
}
int number(Diagonal diagonal) {
  return diagonal == Diagonal::unit ? 132 : 131;
}

Side flip(Side side) {
  return side == Side::left ? Side::right : Side::left;
}
Uplo flip(Uplo uplo) {
  return uplo == Uplo::upper ? Uplo::lower : Uplo::upper;
}

int narrow(std::int64_t value) {
  return static_cast<int>(value);
}

/// A coefficient in the type that the routine takes: the element type, or real for Hermitian updates.
template <class T>
T coefficient(Coefficient value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value.real());
  } else {
    return {static_cast<typename T::value_type>(value.real()), static_cast<typename T::value_type>(value.imag())};
  }
}

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};

template <class... Arguments>
void invoke(void* function, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(function)(arguments...);
}

template <class T, class Alpha, class Beta>
void issue_fortran(const Call& call) {
  void* function = names[static_cast<std::size_t>(call.routine)].fortran;
  const char side = letter(call.side), uplo = letter(call.uplo), diagonal = letter(call.diagonal);
  const char transpose_a = letter(call.transpose_a), transpose_b = letter(call.transpose_b);
  const int m = narrow(call.m), n = narrow(call.n), k = narrow(call.k);
  const Alpha alpha = coefficient<Alpha>(call.alpha);
  const Beta beta = coefficient<Beta>(call.beta);
  void *a = call.operand_storage[0].address, *b = call.operand_storage[1].address;
  const int lda = narrow(call.operand_storage[0].leading_dimension);
  const int ldb = narrow(call.operand_storage[1].leading_dimension);
  void* c = call.result().address;
  const int ldc = narrow(call.result().leading_dimension);
  const int incx = call.reversed_x ? -ldb : ldb, incy = call.reversed_y ? -ldc : ldc;
  const std::size_t one = 1;  // length of an option; Fortran passes lengths behind the arguments
  switch (call.kind()) {
    case Kind::gemm:
      return invoke(function, &transpose_a, &transpose_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, one,
                    one);
    case Kind::symm:
    case Kind::hemm: return invoke(function, &side, &uplo, &m, &n, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, one, one);
    case Kind::syrk:
    case Kind::herk: return invoke(function, &uplo, &transpose_a, &n, &k, &alpha, a, &lda, &beta, c, &ldc, one, one);
    case Kind::syr2k:
    case Kind::her2k:
      return invoke(function, &uplo, &transpose_a, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, one, one);
    case Kind::trmm:
    case Kind::trsm:
      return invoke(function, &side, &uplo, &transpose_a, &diagonal, &m, &n, &alpha, a, &lda, b, &ldb, one, one, one,
                    one);
    case Kind::gemv: return invoke(function, &transpose_a, &m, &n, &alpha, a, &lda, b, &incx, &beta, c, &incy, one);
    case Kind::symv:
    case Kind::hemv: return invoke(function, &uplo, &n, &alpha, a, &lda, b, &incx, &beta, c, &incy, one);
    case Kind::gemmt:
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided:
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided: break;
  }
}

/// CBLAS takes real coefficients by value and complex ones by address.
template <class T>
auto passed(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return static_cast<const void*>(&value);
  }
}

/// y = op(A) x in row-major order, where A's memory holds its transpose. Complex calls that would need conj(A) stay
/// unchanged.
Call vector_product_by_rows(const Call& call) {
  Call row_major = call;
  row_major.transpose_a = call.transpose_a == Transpose::none ? Transpose::transpose : Transpose::none;
  std::swap(row_major.m, row_major.n);
  row_major.uplo = flip(call.uplo);
  return row_major;
}

bool exists_by_rows(const Call& call) {
  return !is_matrix_vector(call.kind()) || !is_complex(call.scalar()) ||
         (call.kind() == Kind::gemv && call.transpose_a != Transpose::conjugate);
}

/// The column-major call `call` as a row-major call, which computes the transposed result.
Call in_row_major_terms(const Call& call) {
  if (is_matrix_vector(call.kind())) return vector_product_by_rows(call);
  Call row_major = call;
  std::swap(row_major.m, row_major.n);
  row_major.side = flip(call.side);
  row_major.uplo = flip(call.uplo);
  if (call.kind() == Kind::gemm) {
    std::swap(row_major.operand_storage[0], row_major.operand_storage[1]);
    std::swap(row_major.transpose_a, row_major.transpose_b);
  } else if (call.operand_count == 3 || call.kind() == Kind::syrk || call.kind() == Kind::herk) {
    const bool hermitian = call.kind() == Kind::herk || call.kind() == Kind::her2k;
    const Transpose transposed = hermitian ? Transpose::conjugate : Transpose::transpose;
    row_major.transpose_a = call.transpose_a == Transpose::none ? transposed : Transpose::none;
    if (call.kind() == Kind::her2k) row_major.alpha = std::conj(call.alpha);
  }
  return row_major;
}

template <class T, class Alpha, class Beta>
void issue_cblas(const Call& column_major, bool rows_wanted) {
  const bool by_rows = rows_wanted && exists_by_rows(column_major);
  const Call call = by_rows ? in_row_major_terms(column_major) : column_major;
  void* function = names[static_cast<std::size_t>(call.routine)].cblas;
  const int order = by_rows ? 101 : 102;
  const int side = number(call.side), uplo = number(call.uplo), diagonal = number(call.diagonal);
  const int transpose_a = number(call.transpose_a), transpose_b = number(call.transpose_b);
  const int m = narrow(call.m), n = narrow(call.n), k = narrow(call.k);
  const Alpha alpha_value = coefficient<Alpha>(call.alpha);
  const Beta beta_value = coefficient<Beta>(call.beta);
  const auto alpha = passed(alpha_value);
  const auto beta = passed(beta_value);
  void *a = call.operand_storage[0].address, *b = call.operand_storage[1].address;
  const int lda = narrow(call.operand_storage[0].leading_dimension);
  const int ldb = narrow(call.operand_storage[1].leading_dimension);
  void* c = call.result().address;
  const int ldc = narrow(call.result().leading_dimension);
  const int incx = call.reversed_x ? -ldb : ldb, incy = call.reversed_y ? -ldc : ldc;
  switch (call.kind()) {
    case Kind::gemm:
      return invoke(function, order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    case Kind::symm:
    case Kind::hemm: return invoke(function, order, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc);
    case Kind::syrk:
    case Kind::herk: return invoke(function, order, uplo, transpose_a, n, k, alpha, a, lda, beta, c, ldc);
    case Kind::syr2k:
    case Kind::her2k: return invoke(function, order, uplo, transpose_a, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    case Kind::trmm:
    case Kind::trsm: return invoke(function, order, side, uplo, transpose_a, diagonal, m, n, alpha, a, lda, b, ldb);
    case Kind::gemv: return invoke(function, order, transpose_a, m, n, alpha, a, lda, b, incx, beta, c, incy);
    case Kind::symv:
    case Kind::hemv: return invoke(function, order, uplo, n, alpha, a, lda, b, incx, beta, c, incy);
    case Kind::gemmt:
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided:
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided: break;
  }
}

template <class T, class Alpha, class Beta>
void issue_somehow(const Call& call, Random& random) {
  if (random.one_in(2)) return issue_fortran<T, Alpha, Beta>(call);
  issue_cblas<T, Alpha, Beta>(call, random.one_in(2));
}

/// herk's coefficients and her2k's beta are real.
template <class T>
void issue_of(const Call& call, Random& random) {
  using Real = typename RealOf<T>::type;
  if (call.kind() == Kind::herk) return issue_somehow<T, Real, Real>(call, random);
  if (call.kind() == Kind::her2k) return issue_somehow<T, T, Real>(call, random);
  issue_somehow<T, T, T>(call, random);
}

}  // namespace

bool callable(Routine routine) {
  return row(routine).kind != Kind::gemmt && !is_batch(row(routine).kind) &&
         !std::string_view(row(routine).name).ends_with("3m");
}

void issue(const Call& call, Random& random) {
  switch (call.scalar()) {
    case Scalar::s: return issue_of<float>(call, random);
    case Scalar::d: return issue_of<double>(call, random);
    case Scalar::c: return issue_of<std::complex<float>>(call, random);
    case Scalar::z: return issue_of<std::complex<double>>(call, random);
  }
}

}  // namespace coherence
