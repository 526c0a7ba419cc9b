// Distributed matrices: which elements a process holds, and where they belong in the whole matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "operation/operand.h"
#include "platform/worker_pool.h"

namespace blastoff::scalapack {

/// ScaLAPACK's description of a distributed matrix: blocks are dealt out cyclically to the rows and columns of a grid.
struct Descriptor {
  int type = dense;
  int context = -1;
  int rows = 0;
  int columns = 0;
  int row_block = 1;
  int column_block = 1;
  int first_row = 0;  ///< the process row that holds the first row
  int first_column = 0;
  int leading_dimension = 1;  ///< of this process's part of the matrix

  static constexpr int dense = 1;
};

/// The description that only the PBLAS accept: the first blocks may have a size of their own.
struct LongDescriptor {
  int type = dense;
  int context = -1;
  int rows = 0;
  int columns = 0;
  int first_row_block = 1;
  int first_column_block = 1;
  int row_block = 1;
  int column_block = 1;
  int first_row = 0;
  int first_column = 0;
  int leading_dimension = 1;

  static constexpr int dense = 2;

  bool operator==(const LongDescriptor&) const = default;
};

/// A grid of processes, and the place of this process in it.
struct Grid {
  int context = -1;
  int rows = 0;
  int columns = 0;
  int row = 0;
  int column = 0;

  bool has_this_process() const { return rows > 0 && row >= 0 && column >= 0; }
  int size() const { return rows * columns; }
  int rank() const { return row * columns + column; }
  bool is_root() const { return rank() == 0; }
};

/// A part of the rows, or of the columns, of a distributed matrix, and how they are dealt out.
struct Axis {
  std::int64_t begin = 0;  ///< the first row of the part, from 0
  std::int64_t count = 0;
  std::int64_t block = 1;
  std::int64_t first_block = 1;  ///< rows in the first block of the matrix
  int process = 0;               ///< this one
  int first = 0;                 ///< the process that holds the first block of the matrix
  int processes = 1;

  /// Returns the process that holds the first row of the part.
  int process_of_begin() const { return static_cast<int>((block_of(begin) + first) % processes); }

  /// Calls visit(whole, own, count) for each run of rows that this process holds: its place in the part and its place
  /// in this process's memory.
  template <class Visit>
  void each_own_run(const Visit& visit) const {
    const std::int64_t end = begin + count;
    const std::int64_t own_first = (process - first + processes) % processes;
    const std::int64_t begin_block = block_of(begin);
    std::int64_t index = begin_block + (own_first - begin_block % processes + processes) % processes;
    for (; begin_of(index) < end; index += processes) {
      const std::int64_t from = std::max(begin_of(index), begin);
      const std::int64_t to = std::min(begin_of(index + 1), end);
      visit(from - begin, own_begin_of(index) + from - begin_of(index), to - from);
    }
  }

 private:
  std::int64_t block_of(std::int64_t row) const { return row < first_block ? 0 : 1 + (row - first_block) / block; }
  std::int64_t begin_of(std::int64_t index) const { return index == 0 ? 0 : first_block + (index - 1) * block; }
  /// Where a block begins in the memory of its process.
  std::int64_t own_begin_of(std::int64_t index) const {
    const std::int64_t earlier = index / processes;  // blocks of the same process
    const bool after_first_block = index % processes == 0 && earlier > 0;
    return after_first_block ? first_block + (earlier - 1) * block : earlier * block;
  }
};

/// Returns how many of the rows this process holds (numroc).
std::int64_t own_share(const Axis& axis);

/// Reads a description; its type stays as it is. A description of another type than these two has no blocks.
LongDescriptor layout_of(const void* descriptor);

/// The sub-matrix of a distributed matrix that a call uses.
struct DistributedMatrix {
  std::byte* address = nullptr;  ///< of this process's part of the whole distributed matrix
  LongDescriptor layout{};
  int row = 0;  ///< the first row of the sub-matrix, from 0
  int column = 0;
  int rows = 0;
  int columns = 0;
  std::size_t element_bytes = 0;
  operation::Part part = operation::Part::full;
  operation::Intent intent = operation::Intent::read;

  Axis row_axis(const Grid& grid) const {
    return {row, rows, layout.row_block, layout.first_row_block, grid.row, layout.first_row, grid.rows};
  }
  Axis column_axis(const Grid& grid) const {
    return {column,      columns, layout.column_block, layout.first_column_block, grid.column, layout.first_column,
            grid.columns};
  }
  /// All rows or columns of the distributed matrix.
  Axis all_rows(const Grid& grid) const {
    return {0, layout.rows, layout.row_block, layout.first_row_block, grid.row, layout.first_row, grid.rows};
  }
  Axis all_columns(const Grid& grid) const {
    return {0,           layout.columns,      layout.column_block, layout.first_column_block,
            grid.column, layout.first_column, grid.columns};
  }
  /// Bytes of the elements that the call uses, on all processes.
  double bytes() const {
    const double all = static_cast<double>(rows) * columns * static_cast<double>(element_bytes);
    return part == operation::Part::full ? all : all / 2;
  }

  /// Whether the descriptor belongs to the grid and has the sub-matrix. All processes get the same answer.
  bool lies_in(const Grid& grid) const;
  /// Whether this process's part of the matrix has a leading dimension that is large enough.
  bool has_room(const Grid& grid) const;
};

/// A column-major matrix in one memory.
struct WholeMatrix {
  std::byte* address = nullptr;
  std::size_t leading_dimension = 0;
};

/// Columns of a whole matrix, from 0.
struct Columns {
  int begin = 0;
  int end = 0;

  bool empty() const { return begin >= end; }
};

/// Bytes of the sub-matrix that this process holds; about half of them for a triangle.
std::size_t own_bytes(const DistributedMatrix& matrix, const Grid& grid);

/// Copies this process's elements of the sub-matrix to their places in `whole`. nullptr for `workers`: the calling
/// thread does it alone; as below.
void copy_to(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid,
             platform::WorkerPool* workers = nullptr);
/// The same where most of them may be there already: writes only what differs. Returns columns that include all in
/// which it has written.
Columns copy_changes_to(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid,
                        platform::WorkerPool* workers = nullptr);
/// Copies the elements of `whole` that belong to this process to their places in the sub-matrix.
void copy_from(const WholeMatrix& whole, const DistributedMatrix& matrix, const Grid& grid,
               platform::WorkerPool* workers = nullptr);

}  // namespace blastoff::scalapack
