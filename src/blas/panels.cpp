#include "blas/panels.h"

#include <algorithm>
#include <cmath>

#include "blas/batch.h"
#include "blas/shape.h"
#include "blas/sub_call.h"

namespace blastoff::blas {
namespace {

/// Rounds the width of a wide strip to a multiple of 16 elements, on which devices are faster.
std::int64_t aligned(std::int64_t width) {
  return width < 64 ? width : (width + 15) / 16 * 16;
}

/// Returns how many columns from `begin` on have about `elements` elements in the triangle.
std::int64_t triangle_width(Uplo uplo, std::int64_t n, std::int64_t begin, double elements) {
  const double height = static_cast<double>(uplo == Uplo::upper ? begin : n - begin);
  const double square = height * height;
  double width = 0;
  if (uplo == Uplo::upper) {
    width = std::sqrt(square + 2 * elements) - height;
  } else {
    width = square <= 2 * elements ? height : height - std::sqrt(square - 2 * elements);
  }
  return std::clamp<std::int64_t>(aligned(std::llround(std::min(width, static_cast<double>(n)))), 1, n - begin);
}

std::vector<Call> triangular_panels(const Call& call, double elements) {
  std::vector<Call> result;
  for (Range columns{0, 0}; columns.end < call.n;) {
    columns.begin = columns.end;
    columns.end += triangle_width(call.uplo, call.n, columns.begin, elements);
    if (columns.size() == call.n) return {call};
    const Range beside = beside_square(call, columns);
    if (beside.size() > 0) result.push_back(rectangle(call, beside, columns).front());
    result.push_back(diagonal_square(call, columns));
  }
  return result;
}

std::vector<Call> batches(const Call& call, double elements) {
  const double result = static_cast<double>(call.m) * static_cast<double>(call.n);
  const auto count = static_cast<std::int64_t>(std::clamp(elements / result, 1.0, static_cast<double>(call.products)));
  std::vector<Call> panels;
  for (Range range{0, 0}; range.end < call.products;) {
    range = {range.end, std::min(call.products, range.end + count)};
    panels.push_back(some_products(call, range));
  }
  return panels;
}

std::vector<Call> strips(const Call& call, double elements) {
  const bool by_rows = has_side(call.kind()) && call.side == Side::right;
  const std::int64_t length = by_rows ? call.n : call.m;
  const std::int64_t count = by_rows ? call.m : call.n;
  const auto fitting =
      static_cast<std::int64_t>(std::clamp(elements / static_cast<double>(length), 1.0, static_cast<double>(count)));
  // Makes strips of about equal size, so that the last one is not narrow.
  const std::int64_t pieces = (count - 1) / fitting + 1;
  const std::int64_t width = aligned((count - 1) / pieces + 1);
  std::vector<Call> result;
  for (Range range{0, 0}; range.end < count;) {
    range = {range.end, std::min(count, range.end + width)};
    result.push_back(by_rows ? rows_of(call, range) : columns_of(call, range));
  }
  return result;
}

}  // namespace

std::vector<Call> panels(const Call& call, std::size_t panel_bytes) {
  const Kind kind = call.kind();
  if (call.m == 0 || call.n == 0 || kind == Kind::syr2k || kind == Kind::her2k || is_matrix_vector(kind)) return {call};
  if (is_product_batch(kind) && call.products == 1) return panels(one_product(call, 0), panel_bytes);
  const double elements = static_cast<double>(panel_bytes) / static_cast<double>(element_size(call.scalar()));
  if (is_batch(kind)) return call.products == 0 ? std::vector{call} : batches(call, elements);
  return has_triangular_result(kind) ? triangular_panels(call, elements) : strips(call, elements);
}

}  // namespace blastoff::blas
