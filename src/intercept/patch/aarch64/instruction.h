// What a relocator must know about an A64 instruction.
#pragma once

#include <cstdint>

namespace blastoff::intercept::patch::aarch64 {

constexpr unsigned instruction_size = 4;

enum class Form : std::uint8_t {
  plain,             ///< acts the same at any address
  address,           ///< adr, adrp: writes `target` to a register
  load,              ///< ldr and prfm: accesses memory at `target`
  jump,              ///< to `target`
  conditional_jump,  ///< b.cond, cbz, tbz and their opposites: to `target`
  call,              ///< of `target`
  indirect_jump,     ///< to the address in a register
  indirect_call,
  end,  ///< ret and the like: control does not continue behind it
};

struct Instruction {
  Form form = Form::plain;
  std::uint32_t word = 0;
  std::uint64_t target = 0;  ///< see Form

  bool branches() const { return form == Form::jump || form == Form::conditional_jump || form == Form::call; }
  bool ends_flow() const { return form == Form::jump || form == Form::indirect_jump || form == Form::end; }
};

/// Few instructions depend on their own address, and each of these has a fixed pattern of bits. A word that is not an
/// instruction counts as plain.
Instruction inspect(std::uint32_t word, std::uint64_t address);

}  // namespace blastoff::intercept::patch::aarch64
