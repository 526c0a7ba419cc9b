// One matrix of an operation: the place of its elements, and whether the operation reads or writes them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blastoff::operation {

/// The elements of the rows x columns box that the operation uses.
enum class Part : std::uint8_t { full, upper, lower };

/// Whether the operation reads or writes these elements.
enum class Intent : std::uint8_t {
  read,
  write,    ///< never read (beta == 0), so they may hold NaN
  update,   ///< read and written
  scratch,  ///< work space: neither uploaded nor copied back
};

constexpr bool reads(Intent intent) {
  return intent == Intent::read || intent == Intent::update;
}
constexpr bool writes(Intent intent) {
  return intent == Intent::write || intent == Intent::update;
}

/// A column-major matrix in memory (host or device, as the owner of the Operand says).
struct Operand {
  void* address = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading_dimension = 0;  ///< elements from one column to the next, at least max(1, rows)
  std::size_t element_size = 0;        ///< bytes
  Part part = Part::full;
  Intent intent = Intent::read;
  /// Copied to the device and back with every call, and not kept there: a vector, which is small compared to the call's
  /// matrix and new in every call. Only in operations that are not cut.
  bool transient = false;

  bool empty() const { return rows == 0 || columns == 0; }

  /// Bytes of one column that belong to the matrix.
  std::size_t column_bytes() const { return static_cast<std::size_t>(rows) * element_size; }

  /// Bytes from one column to the next.
  std::size_t stride_bytes() const { return static_cast<std::size_t>(leading_dimension) * element_size; }

  /// Bytes from the first element to the end of the last column's last row. Nothing beyond is ever read or written.
  std::size_t span_bytes() const {
    return empty() ? 0 : (static_cast<std::size_t>(columns) - 1) * stride_bytes() + column_bytes();
  }

  /// Bytes of all rows x columns elements, even if the operation uses only a triangle.
  std::size_t payload_bytes() const { return column_bytes() * static_cast<std::size_t>(columns); }

  /// Bytes of the elements that the operation uses.
  std::size_t part_bytes() const {
    const auto order = static_cast<std::size_t>(columns);
    return part == Part::full ? payload_bytes() : order * (order + 1) / 2 * element_size;
  }

  /// Whether the columns follow each other without a gap.
  bool contiguous() const { return rows == leading_dimension || columns <= 1; }
};

/// Whether both operands are the same elements of memory.
inline bool same_matrix(const Operand& a, const Operand& b) {
  return a.address == b.address && a.rows == b.rows && a.columns == b.columns && a.element_size == b.element_size &&
         a.leading_dimension == b.leading_dimension;
}

}  // namespace blastoff::operation
