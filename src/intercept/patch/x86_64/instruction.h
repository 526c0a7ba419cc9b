// What a relocator has to know of an x86-64 instruction.
#pragma once

#include <capstone/capstone.h>

#include <cstdint>

namespace blastoff::intercept::patch::x86_64 {

enum class Form : std::uint8_t {
  plain,             ///< means the same anywhere
  rip_relative,      ///< `target` is what its operand in memory refers to
  jump,              ///< to `target`
  conditional_jump,  ///< to `target`, if `condition`
  counted_jump,      ///< loop, jrcxz and the like: to `target`, which is always near
  call,              ///< of `target`
  immovable,
};

struct Instruction {
  Form form = Form::plain;
  bool branches = false;          ///< to `target`, whatever its form
  bool ends_flow = false;         ///< what follows is not reached from it
  bool calls = false;             ///< directly or not
  std::uint64_t target = 0;       ///< see Form
  std::uint8_t condition = 0;     ///< as in the instruction's code
  std::uint8_t displacement = 0;  ///< where its 32 bits begin within a rip_relative instruction
};

/// Whether Capstone counts an instruction among a group, one of cs_group_type.
bool in_group(const cs_insn& decoded, std::uint8_t group);

Instruction inspect(const cs_insn& decoded);

}  // namespace blastoff::intercept::patch::x86_64
