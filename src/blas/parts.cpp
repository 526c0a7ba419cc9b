#include "blas/parts.h"

#include <algorithm>
#include <cmath>

#include "blas/batch.h"
#include "blas/element_address.h"
#include "blas/shape.h"
#include "blas/sub_call.h"
#include "platform/span.h"

namespace blastoff::blas {
namespace {

using Parts = std::vector<std::vector<Call>>;

/// Number of parts in each direction.
struct Grid {
  int rows;
  int columns;
};

/// Returns index `wanted`, or a better index near it, for a cut between rows or columns that are `step` bytes apart (0:
/// pages are not considered). Strips of about `width` that begin at multiples of 16 compute faster. A strip that begins
/// at a page boundary shares no page with its neighbour.
std::int64_t cut_near(double wanted, std::int64_t width, const void* begin, std::size_t step) {
  const std::int64_t even = width < 64 ? std::llround(wanted) : std::llround(wanted / 16) * 16;
  if (step == 0) return even;
  const std::int64_t reach = std::min<std::int64_t>(width / 32, 256);
  const auto begins_page = [&](std::int64_t index) {
    return (reinterpret_cast<std::uintptr_t>(begin) + static_cast<std::uintptr_t>(index) * step) %
               platform::page_size() ==
           0;
  };
  for (std::int64_t distance = 0; distance <= reach; ++distance) {
    if (begins_page(even - distance)) return even - distance;
    if (begins_page(even + distance)) return even + distance;
  }
  return even;
}

/// Cuts [0, size) into `count` ranges, or fewer if it is short. share(i / count) is the part of it that lies before the
/// end of the first i ranges.
template <class Share>
std::vector<Range> ranges(std::int64_t size, int count, const void* begin, std::size_t step, const Share& share) {
  std::vector<Range> result;
  std::int64_t start = 0;
  for (int i = 1; i < count; ++i) {
    const double wanted = static_cast<double>(size) * share(static_cast<double>(i) / count);
    const std::int64_t end = cut_near(wanted, size / count, begin, step);
    if (end <= start || end >= size) continue;
    result.push_back({start, end});
    start = end;
  }
  result.push_back({start, size});
  return result;
}

double evenly(double share) {
  return share;
}

std::vector<Range> columns_in(const Call& call, int count) {
  return ranges(call.n, count, call.result().address, call.result().stride_bytes(), evenly);
}

/// If columns do not begin at page boundaries, no row begins a page in all columns, so pages are not considered.
std::vector<Range> rows_in(const Call& call, int count) {
  const Operand& result = call.result();
  const bool aligned = result.stride_bytes() % platform::page_size() == 0;
  return ranges(call.m, count, result.address, aligned ? result.element_size : 0, evenly);
}

/// Returns the grid with which a part reads least; {1, 1} if there are not enough columns or rows. Columns are
/// contiguous in memory, while rows share pages: a cut by rows has to gain a tenth.
Grid grid_of(const Call& call, int count) {
  constexpr int max_in_one_dimension = 4;
  constexpr double price_of_rows = 1.1;
  Grid best{1, 1};
  double least = 0;
  for (int rows = 1; rows <= count; ++rows) {
    const int columns = count / rows;
    const bool both = rows > 1 && columns > 1;
    if (count % rows != 0 || rows > call.m || columns > call.n || (both && count <= max_in_one_dimension)) continue;
    const double read = static_cast<double>(call.k) *
                        (static_cast<double>(call.m) / rows + static_cast<double>(call.n) / columns) *
                        (rows > 1 ? price_of_rows : 1);
    if (least > 0 && read >= least) continue;
    least = read;
    best = {rows, columns};
  }
  return best;
}

Parts product_parts(const Call& call, int count) {
  const Grid grid = grid_of(call, count);
  Parts result;
  for (const Range rows : rows_in(call, grid.rows)) {
    const Call strip = rows.size() == call.m ? call : rows_of(call, rows);
    for (const Range columns : columns_in(call, grid.columns)) result.push_back({columns_of(strip, columns)});
  }
  return result;
}

Parts sided_parts(const Call& call, int count) {
  Parts result;
  if (call.side == Side::left)
    for (const Range columns : columns_in(call, count)) result.push_back({columns_of(call, columns)});
  else
    for (const Range rows : rows_in(call, count)) result.push_back({rows_of(call, rows)});
  return result;
}

Parts batch_parts(const Call& call, int count) {
  Parts result;
  for (const Range range : ranges(call.products, count, nullptr, 0, evenly))
    result.push_back({some_products(call, range)});
  return result;
}

Parts triangle_parts(const Call& call, int count) {
  const auto columns_before = [&](double area) {
    return call.uplo == Uplo::upper ? std::sqrt(area) : 1 - std::sqrt(1 - area);
  };
  Parts result;
  for (const Range columns :
       ranges(call.n, count, call.result().address, call.result().stride_bytes(), columns_before)) {
    std::vector<Call> part;
    const Range beside = beside_square(call, columns);
    if (beside.size() > 0) part = rectangle(call, beside, columns);
    part.push_back(diagonal_square(call, columns));
    result.push_back(std::move(part));
  }
  return result;
}

}  // namespace

std::vector<std::vector<Call>> parts(const Call& call, int count) {
  if (count < 2 || call.m == 0 || call.n == 0 || is_matrix_vector(call.kind())) return {};
  if (is_product_batch(call.kind()) && call.products == 1) return parts(one_product(call, 0), count);
  Parts result = is_batch(call.kind())                ? batch_parts(call, count)
                 : call.kind() == Kind::gemm          ? product_parts(call, count)
                 : has_triangular_result(call.kind()) ? triangle_parts(call, count)
                                                      : sided_parts(call, count);
  return result.size() > 1 ? std::move(result) : Parts{};
}

}  // namespace blastoff::blas
