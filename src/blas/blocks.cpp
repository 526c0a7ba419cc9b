#include "blas/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "blas/batch.h"
#include "blas/element_address.h"
#include "blas/shape.h"

namespace blastoff::blas {
namespace {

/// Columns (or rows) of the other operands that should fit on the device at once: three panels of sixteen.
constexpr std::int64_t streamed = 48;

/// A part of op(X) that begins at the element in `row` and `column`.
struct Factor {
  const Operand* operand;
  Transpose transpose;
  std::int64_t row;
  std::int64_t column;

  void* address() const { return element_address(*operand, transpose, row, column); }
  Factor at(std::int64_t more_rows, std::int64_t more_columns) const {
    return {operand, transpose, row + more_rows, column + more_columns};
  }
};

/// C := alpha A B + beta C.
struct Product {
  Factor a;
  Factor b;
  Factor c;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  Coefficient alpha;
  Coefficient beta;
};

/// Cuts [0, size) into parts of about equal size, each of about `most` at most.
std::vector<Range> parts(std::int64_t size, std::int64_t most) {
  const std::int64_t count = (size - 1) / std::max<std::int64_t>(most, 1) + 1;
  const std::int64_t even = (size - 1) / count + 1;
  const std::int64_t width = even < 64 ? even : (even + 15) / 16 * 16;  // devices are faster on multiples of 16
  std::vector<Range> result;
  for (Range range{0, 0}; range.end < size;) {
    range = {range.end, std::min(size, range.end + width)};
    result.push_back(range);
  }
  return result;
}

class Blocks {
 public:
  /// `most`: largest number of elements of the operand that is needed whole.
  Blocks(const Call& call, std::int64_t most)
      : call_(call),
        max_(std::max<std::int64_t>(most, 1)),
        side_(std::clamp<std::int64_t>(std::llround(std::sqrt(static_cast<double>(max_))), 1,
                                       std::max<std::int64_t>(max_ / (2 * streamed), 1))) {}

  std::vector<std::vector<Call>> cut() && {
    if (fits()) return {{call_}};
    switch (call_.kind()) {
      case Kind::gemm: multiply(whole_product()); break;
      case Kind::symm:
      case Kind::hemm: multiply_by_symmetric(); break;
      case Kind::trmm: multiply_by_triangle(); break;
      case Kind::trsm: solve(); break;
      default: update_triangle(); break;
    }
    return std::move(result_);
  }

 private:
  bool left() const { return call_.side == Side::left; }
  const Operand& a() const { return call_.operands()[0]; }
  const Operand& b() const { return call_.operands()[1]; }
  const Operand& c() const { return call_.result(); }
  bool two_factors() const { return call_.kind() == Kind::syr2k || call_.kind() == Kind::her2k; }

  bool fits() const {
    const std::int64_t n = call_.n;
    const std::int64_t k = call_.k;
    if (call_.kind() == Kind::gemm) return fits(call_.m, k);
    if (has_side(call_.kind())) return fits(k, k);
    if (two_factors()) return n <= side_ && 2 * n * k + n * n <= max_;
    return fits(call_.kind() == Kind::gemmt ? 2 * n : n, k);
  }
  bool fits(std::int64_t rows, std::int64_t columns) const {
    return rows <= max_ / std::max<std::int64_t>(columns, 1) && streamed * (rows + columns) <= max_;
  }

  Product whole_product() const {
    return {{&a(), call_.transpose_a, 0, 0},
            {&b(), call_.transpose_b, 0, 0},
            {&c(), Transpose::none, 0, 0},
            call_.m,
            call_.n,
            call_.k,
            call_.alpha,
            call_.beta};
  }

  /// Cuts A into blocks of rows with all columns: B passes once for each block. If A has so many columns that such
  /// blocks would be flat, squares move less, although C passes once for each square in a row of squares.
  void multiply(const Product& whole) {
    const std::int64_t height = std::min(whole.m, std::max<std::int64_t>(side_ / 3, 1));
    const bool all_columns = fits(height, whole.k);
    const std::vector<Range> depths = parts(whole.k, all_columns ? whole.k : side_);
    const std::int64_t depth = depths.front().size();
    const std::int64_t max_rows = std::min(max_ / depth, std::max<std::int64_t>(max_ / streamed - depth, 1));
    bool new_series = true;
    for (const Range rows : parts(whole.m, std::max(max_rows, height)))
      for (const Range inner : depths) {
        Product part = whole;
        part.a = whole.a.at(rows.begin, inner.begin);
        part.b = whole.b.at(inner.begin, 0);
        part.c = whole.c.at(rows.begin, 0);
        part.m = rows.size();
        part.k = inner.size();
        if (inner.begin > 0) part.beta = 1;
        // Blocks of rows with all columns have separate results, so they may be in one series.
        if (new_series || !all_columns) result_.emplace_back();
        new_series = false;
        result_.back().push_back(call_of(part));
      }
  }

  Call call_of(const Product& product) const {
    Call part;
    part.routine = call_.kind() == Kind::gemm ? call_.routine : routine_of(Kind::gemm, call_.scalar());
    part.transpose_a = product.a.transpose;
    part.transpose_b = product.b.transpose;
    part.m = product.m;
    part.n = product.n;
    part.k = product.k;
    part.alpha = product.alpha;
    part.beta = product.beta;
    const std::array<void*, 3> addresses{product.a.address(), product.b.address(), product.c.address()};
    const std::array<std::int64_t, 3> leading_dimensions{product.a.operand->leading_dimension,
                                                         product.b.operand->leading_dimension,
                                                         product.c.operand->leading_dimension};
    shape_operands(part, addresses, leading_dimensions);
    return part;
  }

  /// A call of the same kind for a square on the diagonal of A, and the rows (left) or columns of the other operands
  /// beside it.
  Call on_diagonal(Range square) const {
    Call part = call_;
    (left() ? part.m : part.n) = square.size();
    std::array<void*, 3> addresses{element_address(a(), square.begin, square.begin)};
    std::array<std::int64_t, 3> leading_dimensions{a().leading_dimension};
    for (std::size_t i = 1; i < call_.operands().size(); ++i) {
      addresses[i] = strip(call_.operands()[i], square.begin).address();
      leading_dimensions[i] = call_.operands()[i].leading_dimension;
    }
    shape_operands(part, {addresses.data(), call_.operands().size()},
                   {leading_dimensions.data(), call_.operands().size()});
    return part;
  }

  /// A strip of a matrix beside A, beginning at a row (left) or a column.
  Factor strip(const Operand& operand, std::int64_t begin) const {
    return {&operand, Transpose::none, left() ? begin : 0, left() ? 0 : begin};
  }

  /// The strip `to` of the result += alpha (square by `from` of op(A)) (strip `from` of `other`), or with the factors
  /// in reverse order.
  void multiply_strip(Range to, Range from, Transpose transpose, const Operand& other, Coefficient alpha,
                      Coefficient beta) {
    if (from.size() == 0) return;
    const Factor matrix =
        left() ? Factor{&a(), transpose, to.begin, from.begin} : Factor{&a(), transpose, from.begin, to.begin};
    const Factor source = strip(other, from.begin);
    const Factor target = strip(c(), to.begin);
    if (left())
      multiply({matrix, source, target, to.size(), call_.n, from.size(), alpha, beta});
    else
      multiply({source, matrix, target, call_.m, to.size(), from.size(), alpha, beta});
  }

  void multiply_by_symmetric() {
    const Transpose mirrored = call_.kind() == Kind::hemm ? Transpose::conjugate : Transpose::transpose;
    // Whether the elements of A before the square are stored. If not, their mirror images are.
    const bool before_stored = (call_.uplo == Uplo::lower) == left();
    for (const Range square : parts(call_.k, side_)) {
      result_.push_back({on_diagonal(square)});
      multiply_strip(square, {0, square.begin}, before_stored ? Transpose::none : mirrored, b(), call_.alpha, 1);
      multiply_strip(square, {square.end, call_.k}, before_stored ? mirrored : Transpose::none, b(), call_.alpha, 1);
    }
  }

  /// Whether a strip of op(A) B (or B op(A)) needs the strips behind it. Otherwise it needs the strips before it.
  bool needs_those_behind() const {
    const bool upper = (call_.uplo == Uplo::upper) == (call_.transpose_a == Transpose::none);
    return upper == left();
  }
  Range needed(Range square) const {
    return needs_those_behind() ? Range{square.end, call_.k} : Range{0, square.begin};
  }

  /// Overwrites a strip only after all strips that need its old elements.
  void multiply_by_triangle() {
    std::vector<Range> squares = parts(call_.k, side_);
    if (!needs_those_behind()) std::ranges::reverse(squares);
    for (const Range square : squares) {
      result_.push_back({on_diagonal(square)});
      multiply_strip(square, needed(square), call_.transpose_a, c(), call_.alpha, 1);
    }
  }

  /// Solves for a strip after all strips that it needs.
  void solve() {
    std::vector<Range> squares = parts(call_.k, side_);
    if (needs_those_behind()) std::ranges::reverse(squares);
    for (const Range square : squares) {
      const Range solved = needed(square);
      multiply_strip(square, solved, call_.transpose_a, c(), -1, call_.alpha);
      Call part = on_diagonal(square);
      if (solved.size() > 0) part.alpha = 1;
      result_.push_back({part});
    }
  }

  /// Cuts C := alpha op(A) op(B) + beta C and similar updates of one triangle.
  void update_triangle() {
    const std::vector<Range> depths = parts(call_.k, std::max<std::int64_t>(max_ / (3 * side_), 1));
    const std::int64_t max_rows = two_factors() ? std::max<std::int64_t>(side_ / 2, 1) : side_;
    for (const Range square : parts(call_.n, max_rows)) {
      for (const Range inner : depths) result_.push_back({diagonal_square(square, inner)});
      const Range beside = call_.uplo == Uplo::lower ? Range{0, square.begin} : Range{square.end, call_.n};
      if (beside.size() > 0) update_beside(square, beside);
    }
  }

  Call diagonal_square(Range square, Range inner) const {
    Call part = call_;
    part.n = square.size();
    part.k = inner.size();
    if (inner.begin > 0) part.beta = 1;
    std::array<void*, 3> addresses{element_address(a(), call_.transpose_a, square.begin, inner.begin)};
    if (call_.kind() == Kind::gemmt)
      addresses[1] = element_address(b(), call_.transpose_b, inner.begin, square.begin);
    else if (two_factors())
      addresses[1] = element_address(b(), call_.transpose_a, square.begin, inner.begin);
    const std::size_t last = call_.operands().size() - 1;
    addresses[last] = element_address(c(), square.begin, square.begin);
    std::array<std::int64_t, 3> leading_dimensions{};
    for (std::size_t i = 0; i <= last; ++i) leading_dimensions[i] = call_.operands()[i].leading_dimension;
    shape_operands(part, {addresses.data(), last + 1}, {leading_dimensions.data(), last + 1});
    return part;
  }

  void update_beside(Range rows, Range columns) {
    const bool hermitian = call_.kind() == Kind::herk || call_.kind() == Kind::her2k;
    const Transpose reversed = hermitian ? Transpose::conjugate : Transpose::transpose;
    const Transpose behind = call_.transpose_a == Transpose::none ? reversed : Transpose::none;
    const auto update = [&](const Operand& x, const Operand& y, Transpose transpose_y, Coefficient alpha,
                            Coefficient beta) {
      multiply({{&x, call_.transpose_a, rows.begin, 0},
                {&y, transpose_y, 0, columns.begin},
                {&c(), Transpose::none, rows.begin, columns.begin},
                rows.size(),
                columns.size(),
                call_.k,
                alpha,
                beta});
    };
    if (call_.kind() == Kind::gemmt) return update(a(), b(), call_.transpose_b, call_.alpha, call_.beta);
    if (!two_factors()) return update(a(), a(), behind, call_.alpha, call_.beta);
    update(a(), b(), behind, call_.alpha, call_.beta);
    update(b(), a(), behind, hermitian ? std::conj(call_.alpha) : call_.alpha, 1);
  }

  const Call& call_;
  const std::int64_t max_;
  const std::int64_t side_;  ///< side of a square that is needed whole
  std::vector<std::vector<Call>> result_;
};

/// As many products at once as have room for all of their matrices; if there is none for one product, its blocks.
std::vector<std::vector<Call>> blocks_of_batch(const Call& call, std::size_t bytes) {
  const std::int64_t elements = call.m * call.k + call.k * call.n + call.m * call.n;
  const auto room = static_cast<std::int64_t>(bytes / 2 / element_size(call.scalar()));
  const std::int64_t count = room / elements;
  if (count >= call.products) return {{call}};
  std::vector<std::vector<Call>> result;
  for (Range range{0, 0}; range.end < call.products;) {
    range = {range.end, std::min(call.products, range.end + std::max<std::int64_t>(count, 1))};
    if (count > 0) {
      result.push_back({some_products(call, range)});
      continue;
    }
    std::vector<std::vector<Call>> of_one = blocks(one_product(call, range.begin), bytes);
    std::ranges::move(of_one, std::back_inserter(result));
  }
  return result;
}

}  // namespace

std::vector<std::vector<Call>> blocks(const Call& call, std::size_t bytes) {
  if (call.m == 0 || call.n == 0 || call.k == 0 || is_matrix_vector(call.kind())) return {{call}};
  if (is_batch(call.kind())) return blocks_of_batch(call, bytes);
  const std::size_t elements = bytes / 2 / element_size(call.scalar());
  return Blocks(call, static_cast<std::int64_t>(elements)).cut();
}

}  // namespace blastoff::blas
