#include "intercept/patch/x86_64/operands.h"

#include <array>
#include <string_view>

namespace blastoff::intercept::patch::x86_64 {
namespace {

constexpr auto general_registers() {
  std::array<General, X86_REG_ENDING> table{};
  constexpr x86_reg names[16][4] = {
      {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},      {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
      {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},      {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
      {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},     {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
      {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},     {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
      {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},     {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
      {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B}, {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
      {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B}, {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
      {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B}, {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B}};
  constexpr int bytes[4] = {8, 4, 2, 1};
  for (int number = 0; number < 16; ++number)
    for (int part = 0; part < 4; ++part) table[names[number][part]] = {number, bytes[part]};
  table[X86_REG_AH] = {0, 1};
  table[X86_REG_CH] = {1, 1};
  table[X86_REG_DH] = {2, 1};
  table[X86_REG_BH] = {3, 1};
  return table;
}

/// Returns the SSE name of an AVX instruction: it has a "v" before it.
std::string_view name_in_sse(const cs_insn& decoded) {
  std::string_view name = decoded.mnemonic;
  if (name.starts_with('v')) name.remove_prefix(1);
  return name;
}

/// Whether the instruction stores a vector register. Capstone calls many of these stores reads.
bool stores(const cs_insn& decoded) {
  const cs_x86& details = decoded.detail->x86;
  return details.op_count == 2 && details.operands[0].type == X86_OP_MEM && details.operands[1].type == X86_OP_REG &&
         vector_register(details.operands[1].reg) >= 0 && name_in_sse(decoded).starts_with("mov");
}

}  // namespace

General general(unsigned name) {
  static constexpr auto table = general_registers();
  return name < table.size() ? table[name] : General{};
}

int vector_register(unsigned name) {
  if (name >= X86_REG_XMM0 && name <= X86_REG_XMM31) return static_cast<int>(name - X86_REG_XMM0);
  if (name >= X86_REG_YMM0 && name <= X86_REG_YMM31) return static_cast<int>(name - X86_REG_YMM0);
  if (name >= X86_REG_ZMM0 && name <= X86_REG_ZMM31) return static_cast<int>(name - X86_REG_ZMM0);
  return -1;
}

Reals reals_of(const cs_insn& decoded) {
  const cs_x86& details = decoded.detail->x86;
  bool vectors = false;
  for (int i = 0; i < details.op_count; ++i)
    vectors |= details.operands[i].type == X86_OP_REG && vector_register(details.operands[i].reg) >= 0;
  if (!vectors) return Reals::none;
  const std::string_view name = name_in_sse(decoded);
  // These move integers and copies as well.
  if (name.starts_with('p') || name == "movd" || name == "movq") return Reals::none;
  if (name.starts_with("cvtss") || name.starts_with("cvtps")) return Reals::singles;
  if (name.starts_with("cvtsd") || name.starts_with("cvtpd")) return Reals::doubles;
  if (name.starts_with("cvt")) return Reals::none;
  const bool several = name.ends_with("ps") || name.ends_with("pd");
  if (several && (name.starts_with("mov") || name.starts_with("and") || name.starts_with("xor"))) return Reals::some;
  if (name.ends_with("ss") || name.ends_with("ps")) return Reals::singles;
  if (name.ends_with("sd") || name.ends_with("pd")) return Reals::doubles;
  return Reals::some;
}

bool reads(const cs_insn& decoded, int operand) {
  if (operand == 0 && stores(decoded)) return false;
  const std::uint8_t access = decoded.detail->x86.operands[operand].access;
  return (access & CS_AC_READ) != 0 || (operand > 0 && access == 0);
}

bool writes(const cs_insn& decoded, int operand) {
  if (operand == 0 && stores(decoded)) return true;
  const std::uint8_t access = decoded.detail->x86.operands[operand].access;
  return (access & CS_AC_WRITE) != 0 || (operand == 0 && access == 0);
}

bool clears(const cs_insn& decoded) {
  const cs_x86& details = decoded.detail->x86;
  if (details.op_count < 2 || details.operands[0].type != X86_OP_REG) return false;
  const cs_x86_op& last = details.operands[details.op_count - 1];
  const cs_x86_op& other = details.operands[details.op_count - 2];
  const bool same = last.type == X86_OP_REG && other.type == X86_OP_REG && last.reg == other.reg;
  const std::string_view name = name_in_sse(decoded);
  return same &&
         (name.starts_with("xor") || name.starts_with("pxor") || name.starts_with("sub") || name.starts_with("pcmpeq"));
}

bool compares(const cs_insn& decoded) {
  if (decoded.id == X86_INS_TEST) return true;
  const cs_x86& details = decoded.detail->x86;
  return decoded.id == X86_INS_CMP && (details.operands[1].type != X86_OP_IMM || details.operands[1].imm == 0);
}

bool copies_if(const cs_insn& decoded) {
  return std::string_view(decoded.mnemonic).starts_with("cmov");
}

bool moves(const cs_insn& decoded) {
  const Reals reals = reals_of(decoded);
  return (reals == Reals::none || reals == Reals::some) && name_in_sse(decoded).starts_with("mov");
}

bool fills_part(const cs_insn& decoded) {
  const std::string_view name = name_in_sse(decoded);
  return name.starts_with("mov") || name.starts_with("cvt") || name.starts_with("pinsr") || name.starts_with("sqrt");
}

}  // namespace blastoff::intercept::patch::x86_64
