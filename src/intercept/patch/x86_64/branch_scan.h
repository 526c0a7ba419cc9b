// Looks for bytes of a function that may be a branch, wherever an instruction could start, and decodes only around
// these bytes. The scan may report branches that do not exist, but misses none. It takes less than 1 ns per byte, while
// decoding takes 0.3 us per instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blastoff::intercept::patch::x86_64 {

/// Whether an instruction begins at a place, which is found without decoding the whole function.
enum class Boundary : std::uint8_t { yes, no, unknown };

/// Whether an instruction begins at `offset` of a function's code. An instruction has at most 15 bytes, so one begins
/// within any 15 consecutive offsets. If decoding from each of these arrives at `offset`, an instruction begins at
/// `offset`; if decoding from none of them does, none begins there. `unknown`: there are no such 15 offsets nearby.
Boundary instruction_boundary(std::span<const std::byte> code, std::size_t offset);

/// A range of offsets from a function's entry.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool empty() const { return begin >= end; }
  bool holds(std::int64_t offset) const {
    return offset >= static_cast<std::int64_t>(begin) && offset < static_cast<std::int64_t>(end);
  }
};

/// Returns an offset behind which no instruction can bring control to an offset within `range`: no direct branch to
/// such an offset, and no jump through a table.
std::size_t last_branch_into(Range range, std::span<const std::byte> code);

/// Returns the first offset, at `from` or behind it, where a call of another function probably begins; code.size():
/// there is none.
std::size_t next_call(std::span<const std::byte> code, std::size_t from);

}  // namespace blastoff::intercept::patch::x86_64
