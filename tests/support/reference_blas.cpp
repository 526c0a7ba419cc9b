#include "reference_blas.h"

#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "blas/batch.h"

namespace blastoff::reference {
namespace {

using blas::Call;
using blas::Coefficient;
using blas::Kind;
using blas::Side;
using blas::Transpose;
using blas::Uplo;
using operation::Operand;

template <class T>
constexpr bool is_complex_v = !std::is_arithmetic_v<T>;

/// Sums are formed in double precision whatever the element type.
template <class T>
using Wide = std::conditional_t<is_complex_v<T>, std::complex<double>, double>;

template <class W>
W conjugate(W value) {
  if constexpr (is_complex_v<W>) return std::conj(value);
  return value;
}

template <class W>
W real_part(W value) {
  if constexpr (is_complex_v<W>) return value.real();
  return value;
}

template <class W>
W from_coefficient(Coefficient value) {
  if constexpr (is_complex_v<W>) return value;
  return value.real();
}

template <class T>
T& element(const Operand& x, std::int64_t i, std::int64_t j) {
  return static_cast<T*>(x.address)[i + j * x.leading_dimension];
}

/// op(X)(i, j).
template <class T>
Wide<T> transposed(const Operand& x, Transpose transpose, std::int64_t i, std::int64_t j) {
  if (transpose == Transpose::none) return element<T>(x, i, j);
  const Wide<T> value = element<T>(x, j, i);
  return transpose == Transpose::conjugate ? conjugate(value) : value;
}

/// A(i, j) of a symmetric or Hermitian matrix with one stored triangle.
template <class T>
Wide<T> symmetric(const Operand& a, Uplo uplo, bool hermitian, std::int64_t i, std::int64_t j) {
  if (i == j && hermitian) return real_part(Wide<T>(element<T>(a, i, i)));
  const bool stored = uplo == Uplo::upper ? i <= j : i >= j;
  if (stored) return element<T>(a, i, j);
  const Wide<T> mirrored = element<T>(a, j, i);
  return hermitian ? conjugate(mirrored) : mirrored;
}

bool in_triangle(Uplo uplo, std::int64_t i, std::int64_t j) {
  return uplo == Uplo::upper ? i <= j : i >= j;
}

bool writes_one_triangle(Kind kind) {
  return kind == Kind::gemmt || kind == Kind::syrk || kind == Kind::herk || kind == Kind::syr2k || kind == Kind::her2k;
}

/// Term l of element (i, j) of the product, alpha included.
template <class T>
Wide<T> product_term(const Call& call, std::int64_t i, std::int64_t j, std::int64_t l) {
  using W = Wide<T>;
  const W alpha = from_coefficient<W>(call.alpha);
  const Operand& a = call.operands()[0];
  const Operand& b = call.operands()[1];
  const Transpose trans = call.transpose_a;
  switch (call.kind()) {
    case Kind::gemm:
    case Kind::gemmt: return alpha * transposed<T>(a, trans, i, l) * transposed<T>(b, call.transpose_b, l, j);
    case Kind::symm:
    case Kind::hemm: {
      const bool hermitian = call.kind() == Kind::hemm;
      return call.side == Side::left ? alpha * symmetric<T>(a, call.uplo, hermitian, i, l) * W(element<T>(b, l, j))
                                     : alpha * W(element<T>(b, i, l)) * symmetric<T>(a, call.uplo, hermitian, l, j);
    }
    case Kind::syrk: return alpha * transposed<T>(a, trans, i, l) * transposed<T>(a, trans, j, l);
    case Kind::herk: return alpha * transposed<T>(a, trans, i, l) * conjugate(transposed<T>(a, trans, j, l));
    case Kind::syr2k:
      return alpha * transposed<T>(a, trans, i, l) * transposed<T>(b, trans, j, l) +
             alpha * transposed<T>(b, trans, i, l) * transposed<T>(a, trans, j, l);
    case Kind::her2k:
      return alpha * transposed<T>(a, trans, i, l) * conjugate(transposed<T>(b, trans, j, l)) +
             conjugate(alpha) * transposed<T>(b, trans, i, l) * conjugate(transposed<T>(a, trans, j, l));
    default: break;
  }
  return W(0);
}

/// C := product + beta C, on the triangle that the routine owns.
template <class T>
void compute_update(const Call& call) {
  using W = Wide<T>;
  const W alpha = from_coefficient<W>(call.alpha);
  const W beta = from_coefficient<W>(call.beta);
  const bool product = alpha != W(0) && call.k > 0;
  if (!product && beta == W(1)) return;
  const bool hermitian_result = call.kind() == Kind::herk || call.kind() == Kind::her2k;
  for (std::int64_t j = 0; j < call.n; ++j) {
    for (std::int64_t i = 0; i < call.m; ++i) {
      if (writes_one_triangle(call.kind()) && !in_triangle(call.uplo, i, j)) continue;
      const bool real_diagonal = hermitian_result && i == j;
      W sum = 0;
      for (std::int64_t l = 0; product && l < call.k; ++l) sum += product_term<T>(call, i, j, l);
      T& c = element<T>(call.result(), i, j);
      if (beta != W(0)) sum += beta * (real_diagonal ? real_part(W(c)) : W(c));
      c = static_cast<T>(real_diagonal ? real_part(sum) : sum);
    }
  }
}

/// Element (i, j) of op(A) of a triangular A, which must lie in op(A)'s triangle.
template <class T>
Wide<T> triangular(const Call& call, std::int64_t i, std::int64_t j) {
  if (i == j && call.diagonal == blas::Diagonal::unit) return 1;
  return transposed<T>(call.operands()[0], call.transpose_a, i, j);
}

/// trmm and trsm, one column (left) or row (right) of B at a time: x := alpha op(A) x or alpha op(A)^-1 x, with op(A)^T
/// in place of op(A) for the right side.
template <class T>
void compute_triangular(const Call& call) {
  using W = Wide<T>;
  const bool left = call.side == Side::left;
  const W alpha = from_coefficient<W>(call.alpha);
  const std::int64_t order = left ? call.m : call.n;
  const std::int64_t vectors = left ? call.n : call.m;
  const bool op_lower = (call.uplo == Uplo::lower) == (call.transpose_a == Transpose::none);
  const bool lower = left ? op_lower : !op_lower;
  const auto matrix = [&](std::int64_t i, std::int64_t l) {
    return left ? triangular<T>(call, i, l) : triangular<T>(call, l, i);
  };
  for (std::int64_t v = 0; v < vectors; ++v) {
    const auto b = [&](std::int64_t i) -> T& {
      return left ? element<T>(call.result(), i, v) : element<T>(call.result(), v, i);
    };
    std::vector<W> x(static_cast<std::size_t>(order));
    if (alpha != W(0) && call.kind() == Kind::trmm) {
      for (std::int64_t i = 0; i < order; ++i) {
        for (std::int64_t l = lower ? 0 : i; l < (lower ? i + 1 : order); ++l) {
          x[static_cast<std::size_t>(i)] += alpha * matrix(i, l) * W(b(l));
        }
      }
    } else if (alpha != W(0)) {
      for (std::int64_t step = 0; step < order; ++step) {
        const std::int64_t i = lower ? step : order - 1 - step;
        W rest = alpha * W(b(i));
        for (std::int64_t l = lower ? 0 : i + 1; l < (lower ? i : order); ++l) {
          rest -= matrix(i, l) * x[static_cast<std::size_t>(l)];
        }
        x[static_cast<std::size_t>(i)] = rest / matrix(i, i);
      }
    }
    for (std::int64_t i = 0; i < order; ++i) b(i) = static_cast<T>(x[static_cast<std::size_t>(i)]);
  }
}

/// Element i of a vector; if the increment is negative, the last element comes first in memory.
template <class T>
T& component(const Operand& vector, bool reversed, std::int64_t i) {
  return element<T>(vector, 0, reversed ? vector.columns - 1 - i : i);
}

/// op(A)(i, l) of gemv, symv, hemv.
template <class T>
Wide<T> factor(const Call& call, std::int64_t i, std::int64_t l) {
  const Operand& a = call.operands()[0];
  const Wide<T> value = call.kind() == Kind::gemv ? transposed<T>(a, call.transpose_a, i, l)
                                                  : symmetric<T>(a, call.uplo, call.kind() == Kind::hemv, i, l);
  return call.conjugated ? conjugate(value) : value;
}

/// y := alpha op(A) x + beta y. Does nothing if there are no rows or no columns.
template <class T>
void compute_vector(const Call& call) {
  using W = Wide<T>;
  const W alpha = from_coefficient<W>(call.alpha);
  const W beta = from_coefficient<W>(call.beta);
  const Operand& x = call.operands()[1];
  if (call.m == 0 || call.n == 0) return;
  for (std::int64_t i = 0; i < call.result().columns; ++i) {
    W sum = 0;
    for (std::int64_t l = 0; alpha != W(0) && l < x.columns; ++l)
      sum += alpha * factor<T>(call, i, l) * W(component<T>(x, call.reversed_x, l));
    T& y = component<T>(call.result(), call.reversed_y, i);
    y = static_cast<T>(beta == W(0) ? sum : sum + beta * W(y));
  }
}

template <class T>
void compute_as(const Call& call) {
  if (blas::is_matrix_vector(call.kind())) return compute_vector<T>(call);
  if (call.kind() == Kind::trmm || call.kind() == Kind::trsm) {
    compute_triangular<T>(call);
  } else {
    compute_update<T>(call);
  }
}

}  // namespace

void compute(const blas::Call& call) {
  if (is_batch(call.kind())) {
    for (std::int64_t i = 0; i < call.products; ++i) compute(one_product(call, i));
    return;
  }
  switch (call.scalar()) {
    case blas::Scalar::s: return compute_as<float>(call);
    case blas::Scalar::d: return compute_as<double>(call);
    case blas::Scalar::c: return compute_as<std::complex<float>>(call);
    case blas::Scalar::z: return compute_as<std::complex<double>>(call);
  }
}

}  // namespace blastoff::reference
