#include "intercept/patch/x86_64/flow.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "intercept/patch/disassembler.h"
#include "intercept/patch/x86_64/boundary.h"
#include "intercept/patch/x86_64/branch_scan.h"
#include "intercept/patch/x86_64/instruction.h"

namespace blastoff::intercept::patch::x86_64 {
namespace {

/// Tells a tail call through a pointer from a jump through a table. A pointer is read from a field or a variable, a
/// table's entry from a computed address.
class Pointers {
 public:
  void see(const cs_insn& decoded) {
    const cs_x86& details = decoded.detail->x86;
    if (details.op_count == 0 || details.operands[0].type != X86_OP_REG) return;
    fetched_[details.operands[0].reg] =
        decoded.id == X86_INS_MOV && details.op_count == 2 && is_fixed_place(details.operands[1]);
  }

  /// Whether an indirect jump leaves the function.
  bool lead_out(const cs_insn& jump) const {
    const cs_x86_op& operand = jump.detail->x86.operands[0];
    return operand.type == X86_OP_REG ? fetched_[operand.reg] : is_fixed_place(operand);
  }

 private:
  /// Stack slots do not count: code that is not optimised stores computed addresses there.
  static bool is_fixed_place(const cs_x86_op& operand) {
    return operand.type == X86_OP_MEM && operand.mem.index == X86_REG_INVALID && operand.mem.base != X86_REG_RBP &&
           operand.mem.base != X86_REG_RSP;
  }

  std::array<bool, X86_REG_ENDING> fetched_{};
};

bool is_indirect_jump(const cs_insn& decoded) {
  return decoded.id == X86_INS_JMP && decoded.detail->x86.operands[0].type != X86_OP_IMM;
}

/// Decodes a function from its entry on.
class Reader {
 public:
  Reader(const FunctionCode& function, Range moved)
      : function_(function), moved_(moved), walk_(Architecture::x86_64, function.bytes, function.address) {}

  /// Whether a call, or a jump out of the function, has been decoded.
  bool found_way_out() const { return found_way_out_; }
  bool done() const { return walk_.done(); }

  /// Decodes up to the instruction that holds `offset`, or to the first obstacle.
  std::optional<Obstacle> read_to(std::size_t offset) {
    while (position_ <= offset && !walk_.done()) {
      if (const auto obstacle = read_one()) return obstacle;
    }
    return {};
  }

  std::optional<Obstacle> read_one() {
    const cs_insn* decoded = walk_.next();
    if (decoded == nullptr) return Obstacle::unknown_instruction;
    position_ += decoded->size;
    const Instruction instruction = inspect(*decoded);
    const auto target = static_cast<std::int64_t>(instruction.target - function_.address);
    if (instruction.branches) {
      if (moved_.holds(target)) return Obstacle::branch_back;
      const bool out = target < 0 || target >= static_cast<std::int64_t>(function_.bytes.size());
      // A function that calls only itself also counts as a leaf.
      found_way_out_ |= out || (instruction.calls && target != 0);
    } else if (is_indirect_jump(*decoded)) {
      const bool out = pointers_.lead_out(*decoded);
      if (!out && !moved_.empty()) return Obstacle::jump_table;
      found_way_out_ |= out;
    } else {
      found_way_out_ |= instruction.calls;
    }
    pointers_.see(*decoded);
    return {};
  }

 private:
  const FunctionCode& function_;
  Range moved_;
  Disassembly walk_;
  Pointers pointers_;
  std::size_t position_ = 0;
  bool found_way_out_ = false;
};

/// Whether the bytes at `offset`, if they are a call, lead where calls usually lead: to an address where functions
/// begin, or through a field near the beginning of a table of functions.
bool leads_to_usual_place(const FunctionCode& function, std::size_t offset) {
  constexpr std::uint64_t alignment = 16;
  constexpr std::size_t size = 5, size_through_table = 6;
  constexpr std::int32_t largest_table = 1 << 16;
  const std::span<const std::byte> code = function.bytes.subspan(offset);
  std::int32_t displacement = 0;
  if (code.front() == std::byte{0xe8}) {
    std::memcpy(&displacement, &code[1], sizeof displacement);
    return (function.address + offset + size + static_cast<std::uint64_t>(std::int64_t{displacement})) % alignment == 0;
  }
  constexpr std::byte address_form{0xf8}, register_and_displacement{0x90};
  if (code.size() < size_through_table || (code[1] & address_form) != register_and_displacement) return false;
  std::memcpy(&displacement, &code[2], sizeof displacement);
  return displacement > 0 && displacement < largest_table && displacement % sizeof(void*) == 0;
}

/// Quick checks that show that a function calls something. Bytes that only look like a call lead to a usual place once
/// in sixteen times. Three of the first four do so about once in a thousand times.
bool evidently_calls(const FunctionCode& function) {
  constexpr int candidates = 4;
  constexpr int enough = 3;
  std::array<std::size_t, candidates> offsets{};
  int count = 0;
  int usual = 0;
  for (std::size_t offset = next_call(function.bytes, 0); offset < function.bytes.size() && count < candidates;
       offset = next_call(function.bytes, offset + 1)) {
    offsets[count++] = offset;
    usual += leads_to_usual_place(function, offset) ? 1 : 0;
    if (usual == enough) return true;
  }
  return std::any_of(offsets.begin(), offsets.begin() + count,
                     [&](std::size_t offset) { return instruction_boundary(function.bytes, offset) == Boundary::yes; });
}

}  // namespace

std::optional<Obstacle> check_flow(const FunctionCode& function, std::size_t begin, std::size_t end) {
  const Range moved{begin, end};
  Reader reader(function, moved);
  if (const std::size_t last = last_branch_into(moved, function.bytes)) {
    if (const auto obstacle = reader.read_to(last)) return obstacle;
  }
  if (function.may_be_leaf || evidently_calls(function)) return {};
  while (!reader.found_way_out()) {
    if (reader.done()) return Obstacle::leaf;
    if (const auto obstacle = reader.read_one()) return obstacle;
  }
  return {};
}

}  // namespace blastoff::intercept::patch::x86_64
