// Where instructions begin, without decoding all that comes before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blastoff::intercept::patch::x86_64 {

/// Whether an instruction of `code` certainly begins at `offset`. An instruction has at most 15 bytes, so of 15 offsets
/// in a row one is where an instruction begins: if decoding from each of them arrives at `offset`, one begins there
/// too. False may only mean that no such 15 are close by.
bool begins_instruction(std::span<const std::byte> code, std::size_t offset);

}  // namespace blastoff::intercept::patch::x86_64
