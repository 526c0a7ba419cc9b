#include "scalapack/layout.h"

#include <cstring>
#include <functional>
#include <limits>
#include <mutex>

namespace blastoff::scalapack {
namespace {

/// Some of the columns that this process holds, in their order, from 0.
struct OwnColumns {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Calls visit(own, whole, bytes, column) for each run of elements of one column that this process holds. `own` is its
/// place in this process's memory.
template <class Visit>
void each_own_run(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid, const OwnColumns& some,
                  const Visit& visit) {
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
  std::int64_t before = 0;  // own columns
  matrix.column_axis(grid).each_own_run([&](std::int64_t column, std::int64_t own_column, std::int64_t count) {
    const std::int64_t end = std::min(count, some.end - before);
    for (std::int64_t j = std::max<std::int64_t>(0, some.begin - before); j < end; ++j)
      visit_column(column + j, own_column + j);
    before += count;
  });
}

/// Calls copy(columns) for all columns that this process holds, in pieces that several threads copy at once.
template <class Copy>
void in_pieces(const DistributedMatrix& matrix, const Grid& grid, platform::WorkerPool* workers, const Copy& copy) {
  constexpr std::int64_t of_each_thread = 8;  // the columns of a triangle are of different lengths
  const std::int64_t columns = own_share(matrix.column_axis(grid));
  const std::int64_t pieces = workers == nullptr ? 1 : std::min(columns, of_each_thread * (workers->workers() + 1));
  const auto copy_piece = [&](std::size_t index) {
    const auto piece = static_cast<std::int64_t>(index);
    copy(OwnColumns{columns * piece / pieces, columns * (piece + 1) / pieces});
  };
  if (pieces <= 1)
    copy(OwnColumns{0, columns});
  else
    workers->run(static_cast<std::size_t>(pieces), std::cref(copy_piece));
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

std::size_t own_bytes(const DistributedMatrix& matrix, const Grid& grid) {
  const std::int64_t elements = own_share(matrix.row_axis(grid)) * own_share(matrix.column_axis(grid));
  const std::size_t all = static_cast<std::size_t>(elements) * matrix.element_bytes;
  return matrix.part == operation::Part::full ? all : all / 2;
}

void copy_to(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid,
             platform::WorkerPool* workers) {
  in_pieces(matrix, grid, workers, [&](const OwnColumns& columns) {
    each_own_run(whole, matrix, grid, columns,
                 [](std::byte* own, std::byte* place, std::size_t bytes, int) { std::memcpy(place, own, bytes); });
  });
}

Columns copy_changes_to(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid,
                        platform::WorkerPool* workers) {
  constexpr Columns none{std::numeric_limits<int>::max(), 0};
  Columns changed = none;
  std::mutex mutex;
  in_pieces(matrix, grid, workers, [&](const OwnColumns& columns) {
    Columns here = none;
    each_own_run(whole, matrix, grid, columns, [&](std::byte* own, std::byte* place, std::size_t bytes, int column) {
      if (std::memcmp(place, own, bytes) == 0) return;
      std::memcpy(place, own, bytes);
      here = {std::min(here.begin, column), column + 1};  // the columns ascend
    });
    const std::lock_guard lock(mutex);
    changed = {std::min(changed.begin, here.begin), std::max(changed.end, here.end)};
  });
  return changed.empty() ? Columns{} : changed;
}

void copy_from(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid,
               platform::WorkerPool* workers) {
  in_pieces(matrix, grid, workers, [&](const OwnColumns& columns) {
    each_own_run(whole, matrix, grid, columns,
                 [](std::byte* own, std::byte* place, std::size_t bytes, int) { std::memcpy(own, place, bytes); });
  });
}

}  // namespace blastoff::scalapack
