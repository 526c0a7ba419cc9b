// Calls on random matrices for tests: every routine and option, with canaries in all places that the routine must not
// read or write.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "blas/batch.h"
#include "blas/call.h"
#include "blas/element_address.h"
#include "blas/shape.h"

namespace blastoff::test {

/// The options of a call; options that the routine lacks are ignored.
struct Options {
  blas::Side side = blas::Side::left;
  blas::Uplo uplo = blas::Uplo::upper;
  blas::Transpose transpose_a = blas::Transpose::none;
  blas::Transpose transpose_b = blas::Transpose::none;
  blas::Diagonal diagonal = blas::Diagonal::non_unit;
  bool reversed_x = false;
  bool reversed_y = false;
  std::int64_t products = 1;                 ///< batches
  std::array<blas::Stacking, 3> stacking{};  ///< batches: how the matrices of each operand lie
};

/// Ways to lay out a batch: each way for each operand that can have it.
inline std::vector<std::array<blas::Stacking, 3>> stackings(blas::Kind kind) {
  using enum blas::Stacking;
  if (is_solve_batch(kind)) return {{apart, apart}, {beside, below}, {one, beside}, {below, apart}};
  return {{apart, apart, apart}, {beside, below, beside}, {one, apart, below}, {below, one, apart}};
}

/// Every legal combination of options of a routine, each once.
inline std::vector<Options> all_options(blas::Routine routine) {
  using blas::Kind;
  using blas::Transpose;
  const Kind kind = row(routine).kind;
  const bool is_complex = blas::is_complex(row(routine).scalar);
  const bool product = kind == Kind::gemm || kind == Kind::gemmt || is_product_batch(kind);
  const bool triangular = is_triangular_solve_or_product(kind);
  const bool sided = triangular || kind == Kind::symm || kind == Kind::hemm;
  const bool vectors = is_matrix_vector(kind);
  const bool general = kind == Kind::gemm || kind == Kind::gemv || is_product_batch(kind);
  const bool transposable = kind == Kind::gemv || (!vectors && kind != Kind::symm && kind != Kind::hemm);
  const std::vector<Transpose> all{Transpose::none, Transpose::transpose, Transpose::conjugate};
  std::vector<Transpose> transposes = all;
  if (kind == Kind::herk || kind == Kind::her2k) transposes = {Transpose::none, Transpose::conjugate};
  if (is_complex && (kind == Kind::syrk || kind == Kind::syr2k)) transposes = {Transpose::none, Transpose::transpose};
  if (!transposable) transposes = {Transpose::none};
  std::vector<Options> result;
  for (const auto side : {blas::Side::left, blas::Side::right}) {
    for (const auto uplo : {blas::Uplo::upper, blas::Uplo::lower}) {
      for (const auto transpose_a : transposes) {
        for (const auto transpose_b : product ? all : std::vector{Transpose::none}) {
          for (const auto diagonal : {blas::Diagonal::non_unit, blas::Diagonal::unit}) {
            if (!sided && side != blas::Side::left) continue;
            if (general && uplo != blas::Uplo::upper) continue;
            if (!triangular && diagonal != blas::Diagonal::non_unit) continue;
            if (is_batch(kind)) {
              const auto all_stackings = stackings(kind);
              // The other kind is the same to devices.
              for (const auto& stacking : is_grouped(kind) ? std::vector{all_stackings.front()} : all_stackings)
                result.push_back({.side = side,
                                  .uplo = uplo,
                                  .transpose_a = transpose_a,
                                  .transpose_b = transpose_b,
                                  .diagonal = diagonal,
                                  .products = 3,
                                  .stacking = stacking});
              continue;
            }
            for (const int reversed : vectors ? std::vector{0, 1, 2, 3} : std::vector{0})
              result.push_back(
                  {side, uplo, transpose_a, transpose_b, diagonal, (reversed & 1) != 0, (reversed & 2) != 0});
          }
        }
      }
    }
  }
  return result;
}

inline std::string describe(const blas::Call& call) {
  const auto number = [](auto value) { return std::to_string(static_cast<long long>(value)); };
  return std::string(row(call.routine).name) + " side " + number(call.side) + " uplo " + number(call.uplo) + " trans " +
         number(call.transpose_a) + number(call.transpose_b) + " diag " + number(call.diagonal) + " reversed " +
         number(call.reversed_x) + number(call.reversed_y) + " m " + number(call.m) + " n " + number(call.n) + " k " +
         number(call.k) + " products " + number(call.products) + " alpha " + std::to_string(call.alpha.real()) +
         " beta " + std::to_string(call.beta.real());
}

namespace detail {

template <class T>
T random_value(std::mt19937_64& generator) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(uniform(generator));
  } else {
    const double real = uniform(generator);
    return T(static_cast<typename T::value_type>(real), static_cast<typename T::value_type>(uniform(generator)));
  }
}

template <class T>
T not_a_number() {
  using Real = decltype(std::real(T()));
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  if constexpr (std::is_arithmetic_v<T>)
    return nan;
  else
    return T(nan, nan);
}

inline bool referenced(const operation::Operand& x, std::int64_t i, std::int64_t j) {
  if (i >= x.rows) return false;
  return x.part == operation::Part::full || (x.part == operation::Part::upper ? i <= j : i >= j);
}

/// Calls `function.template operator()<T>()` with the element type.
template <class Function>
decltype(auto) with_scalar(blas::Scalar scalar, Function&& function) {
  switch (scalar) {
    case blas::Scalar::s: return function.template operator()<float>();
    case blas::Scalar::d: return function.template operator()<double>();
    case blas::Scalar::c: return function.template operator()<std::complex<float>>();
    case blas::Scalar::z: break;
  }
  return function.template operator()<std::complex<double>>();
}

}  // namespace detail

/// Owns the matrices of a call. Elements that the routine may not read (the other triangle, the rows below the matrix,
/// a result with beta == 0) are NaN, which also shows writes to them: same_outside() compares bytes.
class TestCall {
 public:
  TestCall(blas::Routine routine, const Options& options, std::int64_t m, std::int64_t n, std::int64_t k,
           blas::Coefficient alpha, blas::Coefficient beta, std::uint64_t seed = 1) {
    call_.routine = routine;
    call_.side = options.side;
    call_.uplo = options.uplo;
    call_.transpose_a = options.transpose_a;
    call_.transpose_b = options.transpose_b;
    call_.diagonal = options.diagonal;
    call_.reversed_x = options.reversed_x;
    call_.reversed_y = options.reversed_y;
    call_.m = m;
    call_.n = n;
    call_.k = k;
    const blas::Kind kind = call_.kind();
    const bool real = !blas::is_complex(call_.scalar());
    const bool hermitian_update = kind == blas::Kind::herk || kind == blas::Kind::her2k;
    call_.alpha = real || kind == blas::Kind::herk ? alpha.real() : alpha;
    call_.beta = real || hermitian_update ? beta.real() : beta;
    const auto count = static_cast<std::size_t>(blas::operand_count(kind));
    std::array<void*, 3> addresses{};
    std::array<std::int64_t, 3> leading_dimensions{};
    blas::shape_operands(call_, {addresses.data(), count}, {leading_dimensions.data(), count});
    std::mt19937_64 generator(seed);
    for (std::size_t i = 0; i < count; ++i) {
      operation::Operand& operand = call_.operands()[i];
      operand.leading_dimension = std::max<std::int64_t>(1, operand.rows) + static_cast<std::int64_t>(i) + 1;
    }
    if (is_batch(kind)) lay_out(options);
    for (std::size_t i = 0; i < count; ++i) {
      operation::Operand& operand = call_.operands()[i];
      // Tests read the memory that they hand out; one column more than needed shows writes past the end.
      storage_[i].resize(static_cast<std::size_t>(operand.leading_dimension * (operand.columns + 1)) *
                         operand.element_size);
      operand.address = storage_[i].data();
      detail::with_scalar(call_.scalar(), [&]<class T>() { fill<T>(operand, generator); });
    }
    if (is_solve_batch(kind)) detail::with_scalar(call_.scalar(), [&]<class T>() { raise_diagonals<T>(); });
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  const blas::Call& call() const { return call_; }

  /// The memory of the result, with its initial contents unless call() has been computed.
  std::vector<std::byte> result() const { return storage_[static_cast<std::size_t>(call_.operand_count) - 1]; }

  /// The call with its result in `memory`, a copy of result().
  blas::Call with_result(std::vector<std::byte>& memory) const {
    blas::Call call = call_;
    call.result().address = memory.data();
    return call;
  }

  /// Largest difference between two results, relative to the size of sums of that length, in units of the machine
  /// epsilon. Infinite if anything outside the result has changed. NaN differs from everything.
  double difference(const std::vector<std::byte>& left, const std::vector<std::byte>& right) const {
    return detail::with_scalar(call_.scalar(), [&]<class T>() { return difference_of<T>(left, right); });
  }

 private:
  /// Makes stacks of a batch's operands.
  void lay_out(const Options& options) {
    using enum blas::Stacking;
    call_.products = options.products;
    std::array<std::int64_t, 3> strides{};
    for (std::size_t i = 0; i < call_.operands().size(); ++i) {
      operation::Operand& matrix = call_.operands()[i];
      const blas::Stacking stacking = options.stacking[i];
      if (stacking == below) matrix.leading_dimension += matrix.rows * (options.products - 1);
      if (stacking == apart) matrix.leading_dimension = matrix.rows;
      strides[i] = stacking == beside  ? matrix.leading_dimension * matrix.columns
                   : stacking == below ? matrix.rows
                   : stacking == apart ? matrix.rows * matrix.columns + static_cast<std::int64_t>(i)
                                       : 0;
    }
    blas::stack(call_, strides);
  }

  /// Makes the triangles of a batch of solves regular.
  template <class T>
  void raise_diagonals() {
    for (std::int64_t product = 0; product < call_.products; ++product) {
      const operation::Operand a = blas::one_product(call_, product).operands().front();
      if (product > 0 && call_.stacking.front() == blas::Stacking::one) return;
      for (std::int64_t i = 0; i < a.rows; ++i) *static_cast<T*>(blas::element_address(a, i, i)) += T(2);
    }
  }

  template <class T>
  void fill(const operation::Operand& operand, std::mt19937_64& generator) {
    const bool sided_a = blas::is_triangular_solve_or_product(call_.kind()) && &operand == &call_.operands()[0];
    const bool triangular_a = sided_a && !is_batch(call_.kind());
    T* elements = static_cast<T*>(operand.address);
    for (std::int64_t j = 0; j <= operand.columns; ++j) {
      for (std::int64_t i = 0; i < operand.leading_dimension; ++i) {
        T value = detail::random_value<T>(generator);
        if (sided_a) value /= static_cast<decltype(std::real(T()))>(operand.rows);
        if (triangular_a && i == j) value += T(2);
        const bool readable = j < operand.columns && detail::referenced(operand, i, j) && reads(operand.intent) &&
                              !(triangular_a && i == j && call_.diagonal == blas::Diagonal::unit);
        elements[i + j * operand.leading_dimension] = readable ? value : detail::not_a_number<T>();
      }
    }
  }

  template <class T>
  double difference_of(const std::vector<std::byte>& left, const std::vector<std::byte>& right) const {
    const operation::Operand& c = call_.result();
    const std::vector<std::byte>& before = storage_[static_cast<std::size_t>(call_.operand_count) - 1];
    const double scale = (static_cast<double>(call_.k) + 4) * (std::abs(call_.alpha) + std::abs(call_.beta) + 1) *
                         blas::machine_epsilon(call_.scalar());
    double worst = 0;
    for (std::int64_t j = 0; j <= c.columns; ++j) {
      for (std::int64_t i = 0; i < c.leading_dimension; ++i) {
        const std::size_t offset = static_cast<std::size_t>(i + j * c.leading_dimension) * sizeof(T);
        if (j == c.columns || !detail::referenced(c, i, j)) {
          if (std::memcmp(&left[offset], &before[offset], sizeof(T)) != 0 ||
              std::memcmp(&right[offset], &before[offset], sizeof(T)) != 0) {
            return std::numeric_limits<double>::infinity();
          }
          continue;
        }
        T a;
        T b;
        std::memcpy(&a, &left[offset], sizeof(T));
        std::memcpy(&b, &right[offset], sizeof(T));
        const double error = static_cast<double>(std::abs(a - b)) / scale;
        if (!(error <= worst)) worst = error;
        if (std::isnan(worst)) return std::numeric_limits<double>::infinity();
      }
    }
    return worst;
  }

  blas::Call call_;
  std::array<std::vector<std::byte>, 3> storage_;
};

/// Differences of up to this value of difference() are rounding errors.
inline constexpr double rounding = 8;

}  // namespace blastoff::test
