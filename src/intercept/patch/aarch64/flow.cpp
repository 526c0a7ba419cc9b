#include "intercept/patch/aarch64/flow.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "intercept/patch/aarch64/code.h"
#include "intercept/patch/aarch64/instruction.h"

namespace blastoff::intercept::patch::aarch64 {
namespace {

constexpr unsigned frame_pointer = 29;
constexpr unsigned stack_pointer = 31;

/// Whether an instruction loads a whole general register from a fixed place. Stack slots do not count: code that is not
/// optimised stores computed addresses there.
bool fetches_pointer(std::uint32_t word) {
  const unsigned base = word >> 5U & 31U;
  const bool load = (word & 0xffc00000U) == 0xf9400000U || (word & 0xffe00c00U) == 0xf8400000U;
  return load && base != frame_pointer && base != stack_pointer;
}

/// Whether a jump through a register is a tail call through a pointer, not a jump through a table. A pointer is read
/// from a field or a variable, a table's entry from a computed address.
bool jumps_out(std::span<const std::byte> code, std::size_t jump) {
  const unsigned number = word_at(code, jump) >> 5U & 31U;
  for (std::size_t offset = jump; offset >= instruction_size;) {
    offset -= instruction_size;
    const std::uint32_t word = word_at(code, offset);
    if ((word & 31U) == number) return fetches_pointer(word);
  }
  return false;
}

/// Whether code from these addresses on, or code of the same object that it calls, calls code of another object or a
/// function at a computed address. At most `limit` instructions are read.
bool lead_out(const CodeRange& object, std::vector<std::uint64_t> targets, std::size_t limit) {
  std::set<std::uint64_t> read;
  for (std::size_t next = 0; next < targets.size(); ++next) {
    std::uint64_t offset = targets[next] - object.address;
    if (offset >= object.bytes.size()) return true;
    bool ended = false;
    for (; !ended && offset + instruction_size <= object.bytes.size() && read.insert(offset).second;
         offset += instruction_size) {
      if (read.size() > limit) return false;
      const Instruction instruction = inspect(word_at(object.bytes, offset), object.address + offset);
      if (instruction.branches()) targets.push_back(instruction.target);
      if (instruction.form == Form::indirect_call) return true;
      if (instruction.form == Form::indirect_jump && jumps_out(object.bytes, offset)) return true;
      ended = instruction.ends_flow();
    }
  }
  return false;
}

}  // namespace

std::optional<Obstacle> check_flow(const FunctionCode& function, std::size_t begin, std::size_t end) {
  const std::uint64_t size = function.bytes.size();
  bool leaves = function.may_be_leaf;
  std::vector<std::uint64_t> targets;
  for (std::size_t offset = 0; offset + instruction_size <= size; offset += instruction_size) {
    const Instruction instruction = inspect(word_at(function.bytes, offset), function.address + offset);
    if (instruction.branches()) {
      const std::uint64_t target = instruction.target - function.address;
      if (target >= begin && target < end) return Obstacle::branch_back;
      // A function that calls only itself also counts as a leaf.
      if (instruction.form == Form::call ? target != 0 : target >= size) targets.push_back(instruction.target);
    } else if (instruction.form == Form::indirect_call) {
      leaves = true;
    } else if (instruction.form == Form::indirect_jump) {
      const bool out = jumps_out(function.bytes, offset);
      if (!out && begin < end) return Obstacle::jump_table;
      leaves |= out;
    }
  }
  constexpr std::size_t limit = 6000;
  if (leaves || lead_out(function.object, std::move(targets), limit)) return {};
  return Obstacle::leaf;
}

}  // namespace blastoff::intercept::patch::aarch64
