#include "intercept/patch/aarch64/relocate.h"

#include <array>

namespace blastoff::intercept::patch::aarch64 {
namespace {

constexpr unsigned zero_register = 31;

unsigned destination(std::uint32_t word) {
  return word & 31U;
}

/// Makes the same load or prefetch, from the address in register `base`.
std::uint32_t load_from(std::uint32_t literal, unsigned base) {
  constexpr std::array<std::uint32_t, 4> general{0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000};
  constexpr std::array<std::uint32_t, 4> vector{0xbd400000, 0xfd400000, 0x3dc00000, 0};
  const bool is_vector = (literal >> 26U & 1U) != 0;
  const unsigned size = literal >> 30U;
  return (is_vector ? vector[size] : general[size]) | base << 5U | destination(literal);
}

void put_load(CodeBuffer& out, const Instruction& instruction, unsigned scratch) {
  const bool general = (instruction.word >> 26U & 1U) == 0;
  const bool prefetch = general && instruction.word >> 30U == 3;
  const unsigned number = destination(instruction.word);
  // The address can be put into the register that the load overwrites.
  const unsigned base = general && !prefetch && number != zero_register ? number : scratch;
  put_address(out, base, instruction.target);
  out.put_value(load_from(instruction.word, base));
}

}  // namespace

void relocate(const Instruction& instruction, CodeBuffer& out, FarBranch far) {
  switch (instruction.form) {
    case Form::address:
      // An instruction that writes to the zero register has no effect. In an add, the same number would mean the stack
      // pointer.
      if (destination(instruction.word) != zero_register) {
        put_address(out, destination(instruction.word), instruction.target);
      }
      return;
    case Form::load: put_load(out, instruction, far.scratch); return;
    case Form::jump: put_jump(out, instruction.target, far); return;
    case Form::conditional_jump: put_conditional_jump(out, instruction.word, instruction.target, far); return;
    case Form::call: put_call(out, instruction.target, far); return;
    case Form::plain:
    case Form::indirect_jump:
    case Form::indirect_call:
    case Form::end: out.put_value(instruction.word); return;
  }
}

}  // namespace blastoff::intercept::patch::aarch64
