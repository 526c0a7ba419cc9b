#include "blas/verification.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "blas/element.h"

namespace blastoff::blas {
namespace {

using operation::Comparison;

// Copies the elements in an operand's part, one column after the other; the rest is zero.
std::vector<char> dense_copy(const Operand& operand) {
  std::vector<char> copy(operand.payload_bytes());
  for (std::int64_t j = 0; j < operand.columns; ++j) {
    const std::int64_t first = operand.part == Part::lower ? std::min(j, operand.rows) : 0;
    const std::int64_t last = operand.part == Part::upper ? std::min(j + 1, operand.rows) : operand.rows;
    const std::size_t skip = static_cast<std::size_t>(first) * operand.element_size;
    std::memcpy(copy.data() + static_cast<std::size_t>(j) * operand.column_bytes() + skip,
                static_cast<const char*>(operand.address) + static_cast<std::size_t>(j) * operand.stride_bytes() + skip,
                static_cast<std::size_t>(last - first) * operand.element_size);
  }
  return copy;
}

// Returns the result operand, moved into a dense buffer.
Operand moved_to(Operand operand, std::vector<char>& buffer) {
  operand.address = buffer.data();
  operand.leading_dimension = std::max<std::int64_t>(1, operand.rows);
  return operand;
}

void store(Scalar scalar, char* at, std::complex<double> value) {
  const std::complex<float> narrow(value);
  switch (scalar) {
    case Scalar::s:
    case Scalar::c: std::memcpy(at, &narrow, element_size(scalar)); return;
    case Scalar::d:
    case Scalar::z: std::memcpy(at, &value, element_size(scalar)); return;
  }
}

// Multiplies every element by `factor`.
std::vector<char> scaled(std::vector<char> elements, Scalar scalar, Coefficient factor) {
  for (std::size_t at = 0; at < elements.size(); at += element_size(scalar))
    store(scalar, elements.data() + at, factor * element(scalar, elements.data() + at));
  return elements;
}

// Euclidean norms of the rows and columns of a matrix as the operation sees it. A zero counts as the least normal
// number, because rounding errors of smaller numbers are absolute.
struct Norms {
  std::vector<double> rows;
  std::vector<double> columns;
};

enum class Structure { general, symmetric, triangular, unit_triangular };

Norms norms(const Operand& operand, Scalar scalar, Structure structure, bool transposed) {
  const bool single = scalar == Scalar::s || scalar == Scalar::c;
  const double least = single ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
  // Squares of doubles need a wider exponent than double has.
  const long double floor = static_cast<long double>(least) * static_cast<long double>(least);
  struct {
    std::vector<long double> rows;
    std::vector<long double> columns;
  } squares{std::vector<long double>(static_cast<std::size_t>(operand.rows), floor),
            std::vector<long double>(static_cast<std::size_t>(operand.columns), floor)};
  for (std::int64_t j = 0; j < operand.columns; ++j) {
    for (std::int64_t i = 0; i < operand.rows; ++i) {
      const bool stored = operand.part == Part::full || (operand.part == Part::upper ? i <= j : i >= j);
      if (!stored) continue;
      const char* at = static_cast<const char*>(operand.address) +
                       static_cast<std::size_t>(j) * operand.stride_bytes() +
                       static_cast<std::size_t>(i) * operand.element_size;
      const bool one = structure == Structure::unit_triangular && i == j;
      const long double square = one ? 1 : std::norm(std::complex<long double>(element(scalar, at)));
      const auto row = static_cast<std::size_t>(i);
      const auto column = static_cast<std::size_t>(j);
      squares.rows[row] += square;
      squares.columns[column] += square;
      if (structure == Structure::symmetric && i != j) {
        squares.rows[column] += square;
        squares.columns[row] += square;
      }
    }
  }
  const auto roots = [](const std::vector<long double>& values) {
    std::vector<double> result(values.size());
    std::ranges::transform(values, result.begin(),
                           [](long double value) { return static_cast<double>(std::sqrt(value)); });
    return result;
  };
  Norms result{roots(squares.rows), roots(squares.columns)};
  if (transposed) std::swap(result.rows, result.columns);
  return result;
}

// The scale of element (i, j): |alpha| left_i right_j, summed over the products of the operation.
struct Scale {
  std::vector<std::pair<std::vector<double>, std::vector<double>>> products;
  double operator()(std::size_t i, std::size_t j) const {
    double sum = 0;
    for (const auto& [left, right] : products) sum += left[i] * right[j];
    return sum;
  }
};

// `factor`: the operand that trmm or trsm multiplies (B before the call, X after it); not used for other kinds.
Scale scale_of(const Call& call, const Operand& factor) {
  const Scalar scalar = call.scalar();
  const bool ta = call.transpose_a != Transpose::none;
  const bool tb = call.transpose_b != Transpose::none;
  const auto general = [&](int which, bool transposed) {
    return norms(call.operands()[static_cast<std::size_t>(which)], scalar, Structure::general, transposed);
  };
  const bool left = call.side == Side::left;
  switch (call.kind()) {
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided:
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided: break;  // verified product by product (blas/batch_check.h)
    case Kind::gemm:
    case Kind::gemmt: return {{{general(0, ta).rows, general(1, tb).columns}}};
    case Kind::symm:
    case Kind::hemm: {
      const Norms a = norms(call.operands()[0], scalar, Structure::symmetric, false);
      const Norms b = general(1, false);
      if (left) return {{{a.rows, b.columns}}};
      return {{{b.rows, a.columns}}};
    }
    case Kind::syrk:
    case Kind::herk: {
      const Norms a = general(0, ta);
      return {{{a.rows, a.rows}}};
    }
    case Kind::syr2k:
    case Kind::her2k: {
      const Norms a = general(0, ta);
      const Norms b = general(1, ta);
      return {{{a.rows, b.rows}, {b.rows, a.rows}}};
    }
    case Kind::gemv:
    case Kind::symv:
    case Kind::hemv: {
      const auto structure = call.kind() == Kind::gemv ? Structure::general : Structure::symmetric;
      std::vector<double> rows = norms(call.operands()[0], scalar, structure, ta).rows;
      if (call.reversed_y) std::ranges::reverse(rows);  // elements are compared in their order in memory
      return {{{general(1, false).rows, std::move(rows)}}};
    }
    case Kind::trmm:
    case Kind::trsm: {
      const auto structure = call.diagonal == Diagonal::unit ? Structure::unit_triangular : Structure::triangular;
      const Norms a = norms(call.operands()[0], scalar, structure, ta);
      const Norms b = norms(factor, scalar, Structure::general, false);
      if (left) return {{{a.rows, b.columns}}};
      return {{{b.rows, a.columns}}};
    }
  }
  return {};
}

// Returns the gemm that reverses a trsm: computes op(A) X or X op(A) into `result`. `triangle`: A with the zeros and
// ones that it implies.
Call product_of_solve(const Call& solve, std::vector<char>& triangle, std::vector<char>& result) {
  const bool left = solve.side == Side::left;
  Call product;
  product.routine = routine_of(Kind::gemm, solve.scalar());
  (left ? product.transpose_a : product.transpose_b) = solve.transpose_a;
  product.m = solve.m;
  product.n = solve.n;
  product.k = solve.k;
  product.alpha = 1;
  product.beta = 0;
  const Operand& solution = solve.result();
  const std::array<void*, 3> addresses{left ? triangle.data() : solution.address,
                                       left ? solution.address : triangle.data(), result.data()};
  const std::array<std::int64_t, 3> leading_dimensions{left ? solve.k : solution.leading_dimension,
                                                       left ? solution.leading_dimension : solve.k,
                                                       std::max<std::int64_t>(1, solution.rows)};
  shape_operands(product, addresses, leading_dimensions);
  return product;
}

// Returns A of a trsm, with zeros in the other triangle, and ones on the diagonal if these are implied.
std::vector<char> dense_triangle(const Call& solve) {
  std::vector<char> triangle = dense_copy(solve.operands()[0]);
  if (solve.diagonal == Diagonal::non_unit) return triangle;
  const std::size_t size = element_size(solve.scalar());
  for (std::size_t i = 0; i < static_cast<std::size_t>(solve.k); ++i)
    store(solve.scalar(), triangle.data() + i * (static_cast<std::size_t>(solve.k) + 1) * size, 1);
  return triangle;
}

class CallVerification final : public operation::Verification {
 public:
  CallVerification(const Call& call, const operation::Host& host)
      : call_(call), host_(host), before_(dense_copy(call.result())) {}
  Comparison compare() const override;

 private:
  Comparison compare_products(const Call& product, const std::vector<char>& expected,
                              const std::vector<char>& actual) const;

  Call call_;
  const operation::Host& host_;
  std::vector<char> before_;  // the result's elements before the call, one column after the other
};

Comparison CallVerification::compare_products(const Call& product, const std::vector<char>& expected,
                                              const std::vector<char>& actual) const {
  const Operand& result = call_.result();
  const bool solve = call_.kind() == Kind::trsm;
  std::vector<char> factor_elements = solve ? dense_copy(result) : before_;
  const Scale scale = scale_of(product, moved_to(result, factor_elements));
  const bool updates = call_.kind() != Kind::trmm && reads(result.intent);
  Comparison comparison;
  comparison.checked = true;
  comparison.bound = 8.0 * (static_cast<double>(call_.k) + 8) * machine_epsilon(call_.scalar());
  for (std::int64_t j = 0; j < result.columns; ++j) {
    for (std::int64_t i = 0; i < result.rows; ++i) {
      if (result.part == Part::upper ? i > j : result.part == Part::lower ? i < j : false) continue;
      const std::size_t at =
          static_cast<std::size_t>(j) * result.column_bytes() + static_cast<std::size_t>(i) * result.element_size;
      const auto wanted = element(call_.scalar(), expected.data() + at);
      const auto got = element(call_.scalar(), actual.data() + at);
      const double bound_scale =
          std::abs(product.alpha) * scale(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) +
          (solve ? std::abs(wanted) : 0) +
          (updates ? std::abs(call_.beta * element(call_.scalar(), before_.data() + at)) : 0);
      // If the CPU's result is infinite or NaN, there is nothing to compare if the device's result is infinite or NaN
      // too.
      if (!std::isfinite(bound_scale) || (!std::isfinite(std::abs(wanted)) && !std::isfinite(std::abs(got)))) continue;
      const double difference = std::abs(got - wanted);
      double error = 0;
      if (difference > 0) error = difference / bound_scale;
      if (std::isnan(difference)) error = HUGE_VAL;
      if (error <= comparison.relative_error) continue;
      comparison.relative_error = error;
      comparison.row = i;
      comparison.column = j;
    }
  }
  return comparison;
}

Comparison CallVerification::compare() const {
  if (call_.kind() == Kind::trsm) {
    std::vector<char> triangle = dense_triangle(call_);
    std::vector<char> residual(call_.result().payload_bytes());
    const Call product = product_of_solve(call_, triangle, residual);
    if (!host_.can_compute(product)) return {};
    host_.compute(product);
    return compare_products(product, scaled(before_, call_.scalar(), call_.alpha), residual);
  }
  if (!host_.can_compute(call_)) return {};
  std::vector<char> expected = before_;
  Call again = call_;
  again.result() = moved_to(call_.result(), expected);
  host_.compute(again);
  return compare_products(call_, expected, dense_copy(call_.result()));
}

}  // namespace

std::unique_ptr<operation::Verification> verify(const Call& call, const operation::Host& host) {
  return std::make_unique<CallVerification>(call, host);
}

}  // namespace blastoff::blas
