// Where instructions begin, without decoding everything before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace blastoff::intercept::patch::x86_64 {

/// Whether an instruction of `code` certainly begins at `offset`. An instruction has at most 15 bytes, so one begins
/// within any 15 consecutive offsets. If decoding from each of these arrives at `offset`, an instruction begins there
/// too. False may only mean that no such 15 offsets are close by.
bool begins_instruction(std::span<const std::byte> code, std::size_t offset);

}  // namespace blastoff::intercept::patch::x86_64
