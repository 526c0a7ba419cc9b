// Finds where instructions begin, without decoding the whole function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blastoff::intercept::patch::x86_64 {

enum class Boundary : std::uint8_t { yes, no, unknown };

/// Whether an instruction begins at `offset` of a function's code. An instruction has at most 15 bytes, so one begins
/// within any 15 consecutive offsets. If decoding from each of these arrives at `offset`, an instruction begins at
/// `offset`; if decoding from none of them does, none begins there. `unknown`: there are no such 15 offsets nearby.
Boundary instruction_boundary(std::span<const std::byte> code, std::size_t offset);

}  // namespace blastoff::intercept::patch::x86_64
