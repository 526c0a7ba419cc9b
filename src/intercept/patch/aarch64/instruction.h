// What a relocator has to know of an A64 instruction.
#pragma once

#include <cstdint>

namespace blastoff::intercept::patch::aarch64 {

constexpr unsigned instruction_size = 4;

enum class Form : std::uint8_t {
  plain,             ///< means the same anywhere
  address,           ///< adr, adrp: the register becomes `target`
  load,              ///< ldr and prfm of what lies at `target`
  jump,              ///< to `target`
  conditional_jump,  ///< b.cond, cbz, tbz and their opposites: to `target`
  call,              ///< of `target`
  indirect_jump,     ///< to what a register holds
  indirect_call,
  end,  ///< ret and the like: what follows is not reached from it
};

struct Instruction {
  Form form = Form::plain;
  std::uint32_t word = 0;
  std::uint64_t target = 0;  ///< see Form

  bool branches() const { return form == Form::jump || form == Form::conditional_jump || form == Form::call; }
  bool ends_flow() const { return form == Form::jump || form == Form::indirect_jump || form == Form::end; }
};

/// Few instructions refer to where they are, and each has a fixed pattern of bits; a word that is no instruction counts
/// as plain.
Instruction inspect(std::uint32_t word, std::uint64_t address);

}  // namespace blastoff::intercept::patch::aarch64
