#include "intercept/patch/x86_64/instruction.h"

#include <algorithm>
#include <span>

namespace blastoff::intercept::patch::x86_64 {
namespace {

constexpr std::uint8_t operand_size_prefix = 0x66;
constexpr std::uint8_t address_size_prefix = 0x67;
constexpr std::uint8_t rex_w = 0x08;

Form branch_form(const cs_x86& details) {
  const std::uint8_t opcode = details.opcode[0];
  if (opcode == 0xe8) return Form::call;
  if (opcode == 0xe9 || opcode == 0xeb) return Form::jump;
  if (opcode >= 0xe0 && opcode <= 0xe3) return Form::counted_jump;
  if (opcode >= 0x70 && opcode <= 0x7f) return Form::conditional_jump;
  if (opcode == 0x0f && (details.opcode[1] & 0xf0) == 0x80) return Form::conditional_jump;
  return Form::immovable;
}

bool branches_directly(const cs_insn& decoded, const cs_x86& details) {
  const bool loop = decoded.id == X86_INS_LOOP || decoded.id == X86_INS_LOOPE || decoded.id == X86_INS_LOOPNE;
  const bool branches =
      loop || decoded.id == X86_INS_CALL || decoded.id == X86_INS_XBEGIN || in_group(decoded, CS_GRP_JUMP);
  return branches && details.op_count == 1 && details.operands[0].type == X86_OP_IMM;
}

bool ends_flow(unsigned id) {
  switch (id) {
    case X86_INS_JMP:
    case X86_INS_LJMP:
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_RETFQ:
    case X86_INS_IRET:
    case X86_INS_IRETD:
    case X86_INS_IRETQ:
    case X86_INS_UD2:
    case X86_INS_HLT: return true;
    default: return false;
  }
}

Instruction direct_branch(const cs_x86& details) {
  Instruction result;
  result.branches = true;
  result.form = branch_form(details);
  // Processors disagree about the effect of this prefix on a branch. With REX.W they ignore it.
  if (details.prefix[2] == operand_size_prefix && (details.rex & rex_w) == 0) result.form = Form::immovable;
  result.target = static_cast<std::uint64_t>(details.operands[0].imm);
  result.condition = (details.opcode[0] == 0x0f ? details.opcode[1] : details.opcode[0]) & 0x0f;
  return result;
}

Instruction rip_relative(const cs_insn& decoded, const cs_x86& details) {
  Instruction result;
  result.form = Form::rip_relative;
  result.displacement = details.encoding.disp_offset;
  result.target = decoded.address + decoded.size + static_cast<std::uint64_t>(details.disp);
  if (details.encoding.disp_offset != details.encoding.modrm_offset + 1 || details.prefix[3] == address_size_prefix) {
    result.form = Form::immovable;
  }
  return result;
}

}  // namespace

bool in_group(const cs_insn& decoded, std::uint8_t group) {
  const std::span<const std::uint8_t> groups(decoded.detail->groups, decoded.detail->groups_count);
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Instruction inspect(const cs_insn& decoded) {
  const cs_x86& details = decoded.detail->x86;
  Instruction result;
  if (branches_directly(decoded, details)) {
    result = direct_branch(details);
  } else if (details.encoding.modrm_offset != 0 && (details.modrm & 0xc7) == 0x05) {
    result = rip_relative(decoded, details);
  }
  result.ends_flow = ends_flow(decoded.id);
  result.calls = decoded.id == X86_INS_CALL || decoded.id == X86_INS_LCALL;
  return result;
}

}  // namespace blastoff::intercept::patch::x86_64
