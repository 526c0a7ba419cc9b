// What a relocator must know about an x86-64 instruction.
#pragma once

#include <capstone/capstone.h>

#include <cstdint>

namespace blastoff::intercept::patch::x86_64 {

enum class Form : std::uint8_t {
  plain,             ///< acts the same at any address
  rip_relative,      ///< its memory operand is at `target`
  jump,              ///< to `target`
  conditional_jump,  ///< to `target`, if `condition`
  counted_jump,      ///< loop, jrcxz and the like: to `target`, which is always near
  call,              ///< of `target`
  immovable,
};

struct Instruction {
  Form form = Form::plain;
  bool branches = false;          ///< it is a branch or call with a fixed `target`
  bool ends_flow = false;         ///< control does not continue behind it
  bool calls = false;             ///< it is a call, direct or indirect
  std::uint64_t target = 0;       ///< see Form
  std::uint8_t condition = 0;     ///< as in the low four bits of the opcode
  std::uint8_t displacement = 0;  ///< in a rip_relative instruction, the offset of its 32-bit displacement
};

/// Whether Capstone counts an instruction to a group, one of cs_group_type.
bool in_group(const cs_insn& decoded, std::uint8_t group);

Instruction inspect(const cs_insn& decoded);

}  // namespace blastoff::intercept::patch::x86_64
