#include "reference_blas.h"

#include <algorithm>
#include <complex>
#include <cstddef>
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

/// The product of finite numbers.
template <class W>
W times(W a, W b) {
  if constexpr (is_complex_v<W>)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  return a * b;
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

bool writes_one_triangle(Kind kind) {
  return kind == Kind::gemmt || kind == Kind::syrk || kind == Kind::herk || kind == Kind::syr2k || kind == Kind::her2k;
}

/// What a product sums up: for each l, column l of the first factor times row l of the second one.
template <class W>
struct Factors {
  std::vector<W> columns;  // column by column, alpha included
  std::vector<W> rows;     // row by row
};

/// The factors of the product; two pairs of them for the updates of rank 2k.
template <class T>
std::vector<Factors<Wide<T>>> factors_of(const Call& call) {
  using W = Wide<T>;
  const W alpha = from_coefficient<W>(call.alpha);
  const Operand& a = call.operands()[0];
  const Operand& b = call.operands()[1];
  const Transpose trans = call.transpose_a;
  const auto factors = [&](const auto& first, const auto& second) {
    Factors<W> made;
    made.columns.reserve(static_cast<std::size_t>(call.k * call.m));
    made.rows.reserve(static_cast<std::size_t>(call.k * call.n));
    for (std::int64_t l = 0; l < call.k; ++l) {
      for (std::int64_t i = 0; i < call.m; ++i) made.columns.push_back(first(i, l));
      for (std::int64_t j = 0; j < call.n; ++j) made.rows.push_back(second(l, j));
    }
    return made;
  };
  const auto scaled = [&](W coefficient, const Operand& x) {
    return [=, &x](std::int64_t i, std::int64_t l) { return coefficient * transposed<T>(x, trans, i, l); };
  };
  const auto turned = [&](const Operand& x) {
    return [&](std::int64_t l, std::int64_t j) { return transposed<T>(x, trans, j, l); };
  };
  const auto adjoint = [&](const Operand& x) {
    return [&](std::int64_t l, std::int64_t j) { return conjugate(transposed<T>(x, trans, j, l)); };
  };
  switch (call.kind()) {
    case Kind::gemm:
    case Kind::gemmt:
      return {factors(scaled(alpha, a),
                      [&](std::int64_t l, std::int64_t j) { return transposed<T>(b, call.transpose_b, l, j); })};
    case Kind::symm:
    case Kind::hemm: {
      const auto full = [&](std::int64_t i, std::int64_t j) {
        return symmetric<T>(a, call.uplo, call.kind() == Kind::hemm, i, j);
      };
      const auto other = [&](std::int64_t i, std::int64_t j) { return W(element<T>(b, i, j)); };
      if (call.side == Side::left)
        return {factors([&](std::int64_t i, std::int64_t l) { return alpha * full(i, l); }, other)};
      return {factors([&](std::int64_t i, std::int64_t l) { return alpha * other(i, l); }, full)};
    }
    case Kind::syrk: return {factors(scaled(alpha, a), turned(a))};
    case Kind::herk: return {factors(scaled(alpha, a), adjoint(a))};
    case Kind::syr2k: return {factors(scaled(alpha, a), turned(b)), factors(scaled(alpha, b), turned(a))};
    case Kind::her2k: return {factors(scaled(alpha, a), adjoint(b)), factors(scaled(conjugate(alpha), b), adjoint(a))};
    default: return {};
  }
}

/// C := product + beta C, on the triangle that the routine owns. The terms of a sum are added one after the other; a
/// compiler may add those of several elements of a column at once.
template <class T>
void compute_update(const Call& call) {
  using W = Wide<T>;
  const W alpha = from_coefficient<W>(call.alpha);
  const W beta = from_coefficient<W>(call.beta);
  const bool product = alpha != W(0) && call.k > 0;
  if (!product && beta == W(1)) return;
  const bool hermitian_result = call.kind() == Kind::herk || call.kind() == Kind::her2k;
  const auto factors = product ? factors_of<T>(call) : std::vector<Factors<W>>{};
  std::vector<W> sums(static_cast<std::size_t>(call.m));
  for (std::int64_t j = 0; j < call.n; ++j) {
    const bool triangle = writes_one_triangle(call.kind());
    const std::int64_t begin = triangle && call.uplo == Uplo::lower ? std::min(j, call.m) : 0;
    const std::int64_t end = triangle && call.uplo == Uplo::upper ? std::min(j + 1, call.m) : call.m;
    std::fill(sums.begin(), sums.end(), W(0));
    for (std::int64_t l = 0; product && l < call.k; ++l) {
      const W* column = factors[0].columns.data() + l * call.m;
      const W row = factors[0].rows.data()[l * call.n + j];
      W* sum = sums.data();
      if (factors.size() == 1) {
        for (std::int64_t i = begin; i < end; ++i) sum[i] += times(column[i], row);
      } else {
        const W* second_column = factors[1].columns.data() + l * call.m;
        const W second_row = factors[1].rows.data()[l * call.n + j];
        for (std::int64_t i = begin; i < end; ++i)
          sum[i] += times(column[i], row) + times(second_column[i], second_row);
      }
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const bool real_diagonal = hermitian_result && i == j;
      W sum = sums[static_cast<std::size_t>(i)];
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

/// trmm and trsm, on all columns (left) or rows (right) x of B: x := alpha op(A) x or alpha op(A)^-1 x, with op(A)^T
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
  const auto b = [&](std::int64_t i, std::int64_t v) -> T& {
    return left ? element<T>(call.result(), i, v) : element<T>(call.result(), v, i);
  };
  std::vector<W> x(static_cast<std::size_t>(order * vectors));  // component i of all vectors, then component i + 1
  const auto components = [&](std::int64_t i) { return x.data() + i * vectors; };
  if (alpha != W(0) && call.kind() == Kind::trmm) {
    std::vector<W> wide;
    wide.reserve(x.size());
    for (std::int64_t l = 0; l < order; ++l) {
      for (std::int64_t v = 0; v < vectors; ++v) wide.push_back(b(l, v));
    }
    for (std::int64_t i = 0; i < order; ++i) {
      W* product = components(i);
      for (std::int64_t l = lower ? 0 : i; l < (lower ? i + 1 : order); ++l) {
        const W factor = alpha * matrix(i, l);
        const W* component = wide.data() + l * vectors;
        for (std::int64_t v = 0; v < vectors; ++v) product[v] += times(factor, component[v]);
      }
    }
  } else if (alpha != W(0)) {
    for (std::int64_t step = 0; step < order; ++step) {
      const std::int64_t i = lower ? step : order - 1 - step;
      W* rest = components(i);
      for (std::int64_t v = 0; v < vectors; ++v) rest[v] = alpha * W(b(i, v));
      for (std::int64_t l = lower ? 0 : i + 1; l < (lower ? i : order); ++l) {
        const W factor = matrix(i, l);
        const W* solved = components(l);
        for (std::int64_t v = 0; v < vectors; ++v) rest[v] -= times(factor, solved[v]);
      }
      const W divisor = matrix(i, i);
      for (std::int64_t v = 0; v < vectors; ++v) rest[v] = rest[v] / divisor;
    }
  }
  for (std::int64_t i = 0; i < order; ++i) {
    for (std::int64_t v = 0; v < vectors; ++v) b(i, v) = static_cast<T>(components(i)[v]);
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
