// Why a function is not patched.
#pragma once

#include <cstdint>

namespace blastoff::intercept::patch {

enum class Obstacle : std::uint8_t {
  too_short,            ///< no room for a jump before the next function
  branch_back,          ///< a branch leads back into the instructions that would have to move
  jump_table,           ///< it jumps to computed addresses, which might lie among the moved instructions
  unknown_instruction,  ///< an instruction that cannot be decoded or cannot be moved
  out_of_reach,         ///< a moved instruction refers to an address too far from every free place
  leaf,             ///< it calls no code of other objects: callers in its file may rely on registers that it does not
                    ///< change, and need not align the stack
  indirect,         ///< the symbol is an IFUNC resolver, not the function
  patched_already,  ///< its first bytes differ from its file: another tool has changed them
  not_writable,     ///< the system does not allow code to be changed
  no_memory,        ///< no page for trampolines near it
  in_use,           ///< other threads may be running it, and no jump fits into one of its first instructions
};

/// For reports: "too short", ...
const char* to_string(Obstacle obstacle);

}  // namespace blastoff::intercept::patch
