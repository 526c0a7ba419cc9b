// Looks for bytes of a function that may be a branch, wherever an instruction could start, and decodes only around
// these. That finds too many branches but misses none. It takes less than 1 ns per byte, while decoding takes 0.3 us
// per instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blastoff::intercept::patch::x86_64 {

/// A range of offsets from a function's entry.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool empty() const { return begin >= end; }
  bool holds(std::int64_t offset) const {
    return offset >= static_cast<std::int64_t>(begin) && offset < static_cast<std::int64_t>(end);
  }
};

/// Behind this offset no instruction begins by which control may come to an offset within `range`: no direct branch to
/// there, no jump through a table.
std::size_t last_branch_into(Range range, std::span<const std::byte> code);

/// Where, at `from` or behind, the next call of something else probably begins; code.size(): nowhere.
std::size_t next_call(std::span<const std::byte> code, std::size_t from);

}  // namespace blastoff::intercept::patch::x86_64
