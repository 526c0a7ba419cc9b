#include "intercept/patch/x86_64/flow.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "intercept/patch/disassembler.h"
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

  /// Whether a call of code that nobody knows, or a jump to it, has been decoded.
  bool found_way_out() const { return found_way_out_; }
  /// The addresses outside the function to which it branches.
  const std::vector<std::uint64_t>& targets() const { return targets_; }
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
      if (out || (instruction.calls && target != 0)) targets_.push_back(instruction.target);
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
  std::vector<std::uint64_t> targets_;
};

/// Whether code from these addresses on, or code of the same object that it calls, calls code of another object or a
/// function at a computed address. At most `limit` instructions are read.
bool lead_out(const CodeRange& object, std::vector<std::uint64_t> targets, std::size_t limit) {
  std::set<std::uint64_t> read;
  for (std::size_t next = 0; next < targets.size(); ++next) {
    const std::uint64_t offset = targets[next] - object.address;
    if (offset >= object.bytes.size()) return true;
    Pointers pointers;
    Disassembly walk(Architecture::x86_64, object.bytes.subspan(offset), targets[next]);
    bool ended = false;
    while (!ended) {
      const cs_insn* const decoded = walk.next();
      if (decoded == nullptr || !read.insert(decoded->address).second) break;
      if (read.size() > limit) return false;
      const Instruction instruction = inspect(*decoded);
      if (instruction.branches)
        targets.push_back(instruction.target);
      else if (instruction.calls || (is_indirect_jump(*decoded) && pointers.lead_out(*decoded)))
        return true;
      pointers.see(*decoded);
      ended = instruction.ends_flow;
    }
  }
  return false;
}

/// The size of a call of an address that the instruction holds.
constexpr std::size_t direct_call_size = 5;

/// Returns the address to which the bytes at `offset` lead if they are a direct call; 0: they are none.
std::uint64_t called(const FunctionCode& function, std::size_t offset) {
  const std::span<const std::byte> code = function.bytes.subspan(offset);
  if (code.front() != std::byte{0xe8}) return 0;
  std::int32_t displacement = 0;
  std::memcpy(&displacement, &code[1], sizeof displacement);
  return function.address + offset + direct_call_size + static_cast<std::uint64_t>(std::int64_t{displacement});
}

/// Whether code begins with the jump through a pointer by which an object calls others.
bool jumps_to_other_object(std::span<const std::byte> code) {
  constexpr std::array landing_pad{std::byte{0xf3}, std::byte{0x0f}, std::byte{0x1e}, std::byte{0xfa}};
  constexpr std::array jump{std::byte{0xff}, std::byte{0x25}};
  constexpr std::byte bounds{0xf2};
  const auto skip = [&](std::size_t count) { code = code.subspan(count); };
  if (code.size() > landing_pad.size() && std::ranges::equal(code.first(landing_pad.size()), landing_pad))
    skip(landing_pad.size());
  if (!code.empty() && code.front() == bounds) skip(1);
  return code.size() > jump.size() && std::ranges::equal(code.first(jump.size()), jump);
}

/// Whether the bytes at `offset`, if they are a call, call through a field near the beginning of a table of functions.
bool calls_through_table(const FunctionCode& function, std::size_t offset) {
  constexpr std::size_t size = 6;
  constexpr std::int32_t largest_table = 1 << 16;
  constexpr std::byte address_form{0xf8}, register_and_displacement{0x90};
  const std::span<const std::byte> code = function.bytes.subspan(offset);
  if (code.size() < size || (code[1] & address_form) != register_and_displacement) return false;
  std::int32_t displacement = 0;
  std::memcpy(&displacement, &code[2], sizeof displacement);
  return displacement > 0 && displacement < largest_table && displacement % sizeof(void*) == 0;
}

/// What is known of the code at an address of the function's object; nullopt: nothing.
std::optional<bool> known_to_lead_out(const FunctionCode& function, std::uint64_t target) {
  if (function.known == nullptr) return {};
  const auto place = function.known->find(target);
  return place == function.known->end() ? std::nullopt : std::optional(place->second);
}

/// Reads little code, and notes the answer for other functions of the object.
bool soon_leads_out(const FunctionCode& function, std::uint64_t target) {
  constexpr std::size_t limit = 200;
  const bool leads = lead_out(function.object, {target}, limit);
  if (function.known != nullptr) function.known->emplace(target, leads);
  return leads;
}

/// Quick checks that show that a function calls other objects. Bytes that only look like a call hardly ever lead to a
/// jump to another object, or to a function that another function calls. Three calls look like calls through a table by
/// chance in one of some thousand functions.
bool evidently_leads_out(const FunctionCode& function) {
  constexpr std::size_t candidates = 8;
  constexpr int enough = 3;
  const CodeRange& object = function.object;
  std::vector<std::uint64_t> targets;  // those that were considered; 0: a computed address
  int through_table = 0;
  for (std::size_t offset = next_call(function.bytes, 0); offset < function.bytes.size() && targets.size() < candidates;
       offset = next_call(function.bytes, offset + 1)) {
    const std::uint64_t target = called(function, offset);
    if (target != 0 && std::ranges::count(targets, target) != 0) continue;
    targets.push_back(target);
    const std::uint64_t place = target - object.address;
    const bool in_object = target != 0 && place < object.bytes.size();
    if (in_object && jumps_to_other_object(object.bytes.subspan(place))) return true;
    through_table += target == 0 && calls_through_table(function, offset) ? 1 : 0;
    if (through_table == enough) return true;
    const auto answer = known_to_lead_out(function, target);
    if (answer == true) return true;
    if (answer == false || target == function.address) continue;
    if (instruction_boundary(function.bytes, offset) != Boundary::yes) continue;
    if (!in_object || soon_leads_out(function, target)) return true;
  }
  return false;
}

}  // namespace

std::optional<Obstacle> check_flow(const FunctionCode& function, std::size_t begin, std::size_t end) {
  const Range moved{begin, end};
  Reader reader(function, moved);
  if (const std::size_t last = last_branch_into(moved, function.bytes)) {
    if (const auto obstacle = reader.read_to(last)) return obstacle;
  }
  if (function.may_be_leaf || evidently_leads_out(function)) return {};
  while (!reader.found_way_out() && !reader.done())
    if (const auto obstacle = reader.read_one()) return obstacle;
  constexpr std::size_t limit = 6000;
  if (reader.found_way_out() || lead_out(function.object, reader.targets(), limit)) return {};
  return Obstacle::leaf;
}

}  // namespace blastoff::intercept::patch::x86_64
