#include "intercept/patch/aarch64/flow.h"

#include <cstdint>

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
bool leads_out(std::span<const std::byte> code, std::size_t jump) {
  const unsigned number = word_at(code, jump) >> 5U & 31U;
  for (std::size_t offset = jump; offset >= instruction_size;) {
    offset -= instruction_size;
    const std::uint32_t word = word_at(code, offset);
    if ((word & 31U) == number) return fetches_pointer(word);
  }
  return false;
}

}  // namespace

std::optional<Obstacle> check_flow(const FunctionCode& function, std::size_t begin, std::size_t end) {
  const std::uint64_t size = function.bytes.size();
  bool leaves = false;
  for (std::size_t offset = 0; offset + instruction_size <= size; offset += instruction_size) {
    const Instruction instruction = inspect(word_at(function.bytes, offset), function.address + offset);
    if (instruction.branches()) {
      const std::uint64_t target = instruction.target - function.address;
      if (target >= begin && target < end) return Obstacle::branch_back;
      // A function that calls only itself also counts as a leaf.
      leaves |= instruction.form == Form::call ? target != 0 : target >= size;
    } else if (instruction.form == Form::indirect_call) {
      leaves = true;
    } else if (instruction.form == Form::indirect_jump) {
      const bool out = leads_out(function.bytes, offset);
      if (!out && begin < end) return Obstacle::jump_table;
      leaves |= out;
    }
  }
  return leaves || function.may_be_leaf ? std::nullopt : std::optional(Obstacle::leaf);
}

}  // namespace blastoff::intercept::patch::aarch64
