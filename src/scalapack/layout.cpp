#include "scalapack/layout.h"

#include <cstring>

namespace blastoff::scalapack {
namespace {

/// Calls visit(own, whole, bytes, column) for each run of elements of one column that this process holds. `own` is its
/// place in this process's memory.
template <class Visit>
void each_own_run(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid, const Visit& visit) {
  const Axis rows = matrix.row_axis(grid);
  const std::size_t element = matrix.element_bytes;
  const auto stride = static_cast<std::size_t>(matrix.layout.leading_dimension);
  const auto at = [&](std::byte* address, std::size_t leading_dimension, std::int64_t row, std::int64_t column) {
    return address + (static_cast<std::size_t>(row) + static_cast<std::size_t>(column) * leading_dimension) * element;
  };
  const auto visit_column = [&](std::int64_t column, std::int64_t own_column) {
    const std::int64_t low = matrix.part == operation::Part::lower ? column : 0;
    const std::int64_t high = matrix.part == operation::Part::upper ? column + 1 : matrix.rows;
    rows.each_own_run([&](std::int64_t row, std::int64_t own_row, std::int64_t count) {
      const std::int64_t from = std::max(row, low);
      const std::int64_t to = std::min(row + count, high);
      if (from >= to) return;
      visit(at(matrix.address, stride, own_row + from - row, own_column),
            at(whole.address, whole.leading_dimension, from, column), static_cast<std::size_t>(to - from) * element,
            static_cast<int>(column));
    });
  };
  matrix.column_axis(grid).each_own_run([&](std::int64_t column, std::int64_t own_column, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) visit_column(column + j, own_column + j);
  });
}

}  // namespace

std::int64_t own_share(const Axis& axis) {
  std::int64_t share = 0;
  axis.each_own_run([&](std::int64_t, std::int64_t, std::int64_t rows) { share += rows; });
  return share;
}

LongDescriptor layout_of(const void* descriptor) {
  const Descriptor& of = *static_cast<const Descriptor*>(descriptor);
  if (of.type == LongDescriptor::dense) return *static_cast<const LongDescriptor*>(descriptor);
  if (of.type != Descriptor::dense) return {.type = of.type, .row_block = 0, .column_block = 0};
  return {of.type,      of.context,      of.rows,      of.columns,      of.row_block,        of.column_block,
          of.row_block, of.column_block, of.first_row, of.first_column, of.leading_dimension};
}

bool DistributedMatrix::lies_in(const Grid& grid) const {
  const LongDescriptor& of = layout;
  if (of.context != grid.context || of.row_block < 1 || of.column_block < 1) return false;
  if (of.first_row_block < 1 || of.first_column_block < 1) return false;
  if (of.first_row < 0 || of.first_row >= grid.rows || of.first_column < 0 || of.first_column >= grid.columns)
    return false;
  return row >= 0 && column >= 0 && rows > 0 && columns > 0 && std::int64_t{row} + rows <= of.rows &&
         std::int64_t{column} + columns <= of.columns;
}

bool DistributedMatrix::has_room(const Grid& grid) const {
  return layout.leading_dimension >= std::max<std::int64_t>(1, own_share(all_rows(grid)));
}

void copy_to(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid) {
  each_own_run(whole, matrix, grid,
               [](std::byte* own, std::byte* place, std::size_t bytes, int) { std::memcpy(place, own, bytes); });
}

Columns copy_changes_to(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid) {
  Columns changed;
  each_own_run(whole, matrix, grid, [&](std::byte* own, std::byte* place, std::size_t bytes, int column) {
    if (std::memcmp(place, own, bytes) == 0) return;
    std::memcpy(place, own, bytes);
    if (changed.empty()) changed.begin = column;
    changed.end = column + 1;  // the columns ascend
  });
  return changed;
}

void copy_from(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid) {
  each_own_run(whole, matrix, grid,
               [](std::byte* own, std::byte* place, std::size_t bytes, int) { std::memcpy(own, place, bytes); });
}

}  // namespace blastoff::scalapack
