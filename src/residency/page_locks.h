// Page-locked memory of the program, as a source and a destination of copies that need no staging.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/span.h"
#include "residency/staging.h"

namespace blastoff::residency {

/// Operands whose host memory stays page-locked while this lives. At its end their results count as written, so that no
/// mirror holds what they were before. Thread-safe.
class PageLocks {
 public:
  virtual ~PageLocks() = default;

  /// Whether the device may read this host memory.
  virtual bool readable(platform::Span host) const = 0;
  /// Whether it may write it: part of a result that the program itself may write now.
  virtual bool writable(platform::Span host) const = 0;
};

/// From the first byte to the last.
inline platform::Span host_span(const Transfer& transfer) {
  const auto begin = reinterpret_cast<std::uintptr_t>(transfer.host);
  return {begin, begin + (transfer.block.columns - 1) * transfer.block.host_pitch + transfer.block.column_bytes};
}

/// Not triangles, and not short columns: the copy engine is slow at them.
inline bool suits_copy_engine(const Transfer& transfer) {
  constexpr std::size_t short_column = 512;
  return transfer.part == operation::Part::full &&
         (transfer.block.columns == 1 || transfer.block.column_bytes >= short_column);
}

/// The block as one piece where nothing lies between its columns.
inline device::Block joined(const device::Block& block) {
  if (block.host_pitch != block.column_bytes || block.device_pitch != block.column_bytes) return block;
  const std::size_t bytes = block.column_bytes * block.columns;
  return {bytes, 1, bytes, bytes};
}

}  // namespace blastoff::residency
