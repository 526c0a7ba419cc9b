#include "blas/panels.h"

#include <algorithm>
#include <cmath>

#include "blas/element_address.h"
#include "blas/shape.h"

namespace blastoff::blas {
namespace {

/// `part`, whose options and sizes are set, on the operands at `addresses` with the leading dimensions of `whole`.
Call with_operands(Call part, const Call& whole, std::span<void* const> addresses) {
  std::array<std::int64_t, 3> leading_dimensions{};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    leading_dimensions[i] = whole.operand_storage[i].leading_dimension;
  }
  shape_operands(part, addresses, {leading_dimensions.data(), addresses.size()});
  return part;
}

Call columns_of(const Call& call, Range columns) {
  Call part = call;
  part.n = columns.size();
  std::array<void*, 3> addresses{};
  for (std::size_t i = 0; i < call.operands().size(); ++i) addresses[i] = call.operands()[i].address;
  if (call.kind() == Kind::gemm) {
    addresses[1] = element_address(call.operands()[1], call.transpose_b, 0, columns.begin);
  } else if (call.operand_count == 3) {
    addresses[1] = element_address(call.operands()[1], 0, columns.begin);
  }
  addresses[static_cast<std::size_t>(call.operand_count) - 1] = element_address(call.result(), 0, columns.begin);
  return with_operands(part, call, {addresses.data(), call.operands().size()});
}

/// Rows of a right-sided call: all operands but A are cut.
Call rows_of(const Call& call, Range rows) {
  Call part = call;
  part.m = rows.size();
  std::array<void*, 3> addresses{};
  addresses[0] = call.operands()[0].address;
  for (std::size_t i = 1; i < call.operands().size(); ++i)
    addresses[i] = element_address(call.operands()[i], rows.begin, 0);
  return with_operands(part, call, {addresses.data(), call.operands().size()});
}

/// The square of a triangular result on the diagonal.
Call diagonal_square(const Call& call, Range columns) {
  Call part = call;
  part.n = columns.size();
  std::array<void*, 3> addresses{};
  addresses[0] = element_address(call.operands()[0], call.transpose_a, columns.begin, 0);
  if (call.kind() == Kind::gemmt) {
    addresses[1] = element_address(call.operands()[1], call.transpose_b, 0, columns.begin);
  }
  addresses[static_cast<std::size_t>(call.operand_count) - 1] =
      element_address(call.result(), columns.begin, columns.begin);
  return with_operands(part, call, {addresses.data(), call.operands().size()});
}

/// A rectangle of a triangular result, off the diagonal: a gemm.
Call rectangle(const Call& call, Range rows, Range columns) {
  const Operand& a = call.operands()[0];
  const bool two_operands = call.kind() == Kind::gemmt;
  const Operand& b = two_operands ? call.operands()[1] : a;
  const Transpose reversed = call.kind() == Kind::herk ? Transpose::conjugate : Transpose::transpose;
  Call part = call;
  part.routine = routine_of(Kind::gemm, call.scalar());
  part.uplo = Uplo::upper;
  if (!two_operands) part.transpose_b = call.transpose_a == Transpose::none ? reversed : Transpose::none;
  part.m = rows.size();
  part.n = columns.size();
  const std::array<void*, 3> addresses{element_address(a, call.transpose_a, rows.begin, 0),
                                       element_address(b, part.transpose_b, 0, columns.begin),
                                       element_address(call.result(), rows.begin, columns.begin)};
  const std::array<std::int64_t, 3> leading_dimensions{a.leading_dimension, b.leading_dimension,
                                                       call.result().leading_dimension};
  shape_operands(part, addresses, leading_dimensions);
  return part;
}

/// Wide strips begin at multiples of 16 elements, on which devices are faster.
std::int64_t aligned(std::int64_t width) {
  return width < 64 ? width : (width + 15) / 16 * 16;
}

/// Columns from `begin` on whose part of the triangle has about `elements` elements.
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
    const Range beside = call.uplo == Uplo::upper ? Range{0, columns.begin} : Range{columns.end, call.n};
    if (beside.size() > 0) result.push_back(rectangle(call, beside, columns));
    result.push_back(diagonal_square(call, columns));
  }
  return result;
}

std::vector<Call> strips(const Call& call, double elements) {
  const bool by_rows = has_side(call.kind()) && call.side == Side::right;
  const std::int64_t length = by_rows ? call.n : call.m;
  const std::int64_t count = by_rows ? call.m : call.n;
  const auto fitting =
      static_cast<std::int64_t>(std::clamp(elements / static_cast<double>(length), 1.0, static_cast<double>(count)));
  // Strips of about equal size, without a narrow one at the end.
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
  const double elements = static_cast<double>(panel_bytes) / static_cast<double>(element_size(call.scalar()));
  return has_triangular_result(kind) ? triangular_panels(call, elements) : strips(call, elements);
}

}  // namespace blastoff::blas
