// Why a function is not patched.
#pragma once

#include <cstdint>

namespace blastoff::intercept::patch {

enum class Obstacle : std::uint8_t {
  too_short,            ///< no room for a jump before the next function
  branch_back,          ///< a branch leads back into the instructions that would have to move
  jump_table,           ///< it jumps to addresses that it computes: one might lead there
  unknown_instruction,  ///< an instruction that cannot be decoded, or not be moved
  out_of_reach,         ///< what a moved instruction refers to lies too far from any place for it
  leaf,                 ///< it calls nothing: callers in its own file may count on registers that it leaves alone
  indirect,             ///< the symbol is an IFUNC resolver, not the function
  patched_already,      ///< its first bytes are not those of its file: another tool has been there
  not_writable,         ///< the system forbids to write the text
  no_memory,            ///< no page for trampolines near it
};

/// For reports: "too short", ...
const char* to_string(Obstacle obstacle);

}  // namespace blastoff::intercept::patch
