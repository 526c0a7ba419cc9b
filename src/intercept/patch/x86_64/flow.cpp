#include "intercept/patch/x86_64/flow.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "intercept/patch/disassembler.h"
#include "intercept/patch/x86_64/instruction.h"

namespace blastoff::intercept::patch::x86_64 {
namespace {

using Code = std::span<const std::byte>;

unsigned byte_at(Code code, std::size_t offset) {
  return std::to_integer<unsigned>(code[offset]);
}

/// A range of offsets from the function's entry.
struct Range {
  std::size_t begin;
  std::size_t end;

  bool holds(std::int64_t offset) const {
    return offset >= static_cast<std::int64_t>(begin) && offset < static_cast<std::int64_t>(end);
  }
};

// Decoding costs some 0.3 us an instruction. These look at every byte as if an instruction could be there, which finds
// too much but misses nothing, in 1 ns a byte.

bool may_be_short_branch(Code code, std::size_t end, Range range) {
  const unsigned opcode = byte_at(code, end - 2);
  if (!((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xeb)) return false;
  return range.holds(static_cast<std::int64_t>(end) + static_cast<std::int8_t>(byte_at(code, end - 1)));
}

bool may_be_near_branch(Code code, std::size_t end, Range range) {
  std::int32_t displacement = 0;
  std::memcpy(&displacement, &code[end - sizeof displacement], sizeof displacement);
  if (!range.holds(static_cast<std::int64_t>(end) + displacement)) return false;
  const std::size_t opcode = end - sizeof displacement - 1;
  const unsigned last = byte_at(code, opcode);
  if (last == 0xe8 || last == 0xe9) return true;
  const unsigned first = opcode > 0 ? byte_at(code, opcode - 1) : 0;
  return (first == 0x0f && (last & 0xf0U) == 0x80) || (first == 0xc7 && last == 0xf8);
}

bool may_be_table_jump(Code code, std::size_t end) {
  const unsigned modrm = byte_at(code, end - 1);
  const bool computed = (modrm & 0xc0U) == 0xc0 || (modrm & 0x07U) == 0x04;
  return byte_at(code, end - 2) == 0xff && (modrm & 0x38U) == 0x20 && computed;
}

/// Where the last instruction begins at the latest that may lead into `range`; 0: there is none.
std::size_t last_suspect(Code code, Range range) {
  if (range.begin >= range.end) return 0;
  std::size_t last = 0;
  for (std::size_t end = 2; end <= code.size(); ++end) {
    if (may_be_short_branch(code, end, range) || may_be_table_jump(code, end) ||
        (end > sizeof(std::int32_t) && may_be_near_branch(code, end, range))) {
      last = end - 1;
    }
  }
  return last;
}

/// Tells a tail call through a pointer from a jump through a table: the pointer comes from a field or a variable, the
/// table's entry from an address that is computed.
class Pointers {
 public:
  void see(const cs_insn& decoded) {
    const cs_x86& details = decoded.detail->x86;
    if (details.op_count == 0 || details.operands[0].type != X86_OP_REG) return;
    fetched_[details.operands[0].reg] =
        decoded.id == X86_INS_MOV && details.op_count == 2 && is_fixed_place(details.operands[1]);
  }

  /// Of an indirect jump.
  bool lead_out(const cs_insn& jump) const {
    const cs_x86_op& operand = jump.detail->x86.operands[0];
    return operand.type == X86_OP_REG ? fetched_[operand.reg] : is_fixed_place(operand);
  }

 private:
  /// On the stack lie computed addresses too, in code that is not optimised.
  static bool is_fixed_place(const cs_x86_op& operand) {
    return operand.type == X86_OP_MEM && operand.mem.index == X86_REG_INVALID && operand.mem.base != X86_REG_RBP &&
           operand.mem.base != X86_REG_RSP;
  }

  std::array<bool, X86_REG_ENDING> fetched_{};
};

bool is_indirect_jump(const cs_insn& decoded) {
  return decoded.id == X86_INS_JMP && decoded.detail->x86.operands[0].type != X86_OP_IMM;
}

}  // namespace

std::optional<Obstacle> check_flow(const FunctionCode& function, std::size_t begin, std::size_t end) {
  const Range moved{begin, end};
  const Range whole{0, function.bytes.size()};
  const std::uint64_t last = function.address + last_suspect(function.bytes, moved);
  Disassembly walk(Architecture::x86_64, function.bytes, function.address);
  Pointers pointers;
  bool leaves = false;
  for (const cs_insn* decoded = walk.next(); decoded != nullptr; decoded = walk.next()) {
    const Instruction instruction = inspect(*decoded);
    const auto target = static_cast<std::int64_t>(instruction.target - function.address);
    if (instruction.branches && moved.holds(target)) return Obstacle::branch_back;
    if (is_indirect_jump(*decoded)) {
      const bool out = pointers.lead_out(*decoded);
      if (!out && begin < end) return Obstacle::jump_table;
      leaves |= out;
    }
    // A function that calls only itself is as much a leaf as one that calls nothing.
    if (instruction.branches) leaves |= instruction.calls ? target != 0 : !whole.holds(target);
    if (instruction.calls && !instruction.branches) leaves = true;
    if (leaves && decoded->address + decoded->size > last) return {};
    pointers.see(*decoded);
  }
  return walk.done() ? Obstacle::leaf : Obstacle::unknown_instruction;
}

}  // namespace blastoff::intercept::patch::x86_64
