#include "intercept/patch/aarch64/instruction.h"

namespace blastoff::intercept::patch::aarch64 {
namespace {

constexpr std::uint64_t page_mask = 0xfff;

/// Returns `width` bits of `word`, beginning with bit `low`, as a signed number.
std::int64_t signed_field(std::uint32_t word, unsigned low, unsigned width) {
  const std::uint32_t to_the_top = word << (32 - low - width);
  return static_cast<std::int32_t>(to_the_top) >> (32 - width);
}

/// Returns the target of a branch. `width` bits of `word`, from bit 5 on (26 bits: from bit 0), count instructions from
/// this one.
std::uint64_t branch_target(std::uint32_t word, std::uint64_t address, unsigned width) {
  const unsigned low = width == 26 ? 0 : 5;
  return address + static_cast<std::uint64_t>(signed_field(word, low, width) * instruction_size);
}

std::uint64_t address_operand(std::uint32_t word, std::uint64_t address) {
  const bool page = (word >> 31U) != 0;
  const std::int64_t distance = signed_field(word, 5, 19) * 4 + ((word >> 29U) & 3U);
  return page ? (address & ~page_mask) + static_cast<std::uint64_t>(distance * 4096)
              : address + static_cast<std::uint64_t>(distance);
}

Form register_branch(std::uint32_t word) {
  switch ((word >> 21U) & 7U) {  // bit 24 is set in the forms that authenticate the pointer
    case 0: return Form::indirect_jump;
    case 1: return Form::indirect_call;
    default: return Form::end;
  }
}

}  // namespace

Instruction inspect(std::uint32_t word, std::uint64_t address) {
  const auto is = [&](std::uint32_t mask, std::uint32_t value) { return (word & mask) == value; };
  if (is(0x1f000000, 0x10000000)) return {Form::address, word, address_operand(word, address)};
  if (is(0x3b000000, 0x18000000)) return {Form::load, word, branch_target(word, address, 19)};
  if (is(0xfc000000, 0x14000000)) return {Form::jump, word, branch_target(word, address, 26)};
  if (is(0xfc000000, 0x94000000)) return {Form::call, word, branch_target(word, address, 26)};
  if (is(0xff00000e, 0x5400000e)) return {Form::jump, word, branch_target(word, address, 19)};  // b.al, b.nv
  if (is(0xff000000, 0x54000000)) return {Form::conditional_jump, word, branch_target(word, address, 19)};
  if (is(0x7e000000, 0x34000000)) return {Form::conditional_jump, word, branch_target(word, address, 19)};
  if (is(0x7e000000, 0x36000000)) return {Form::conditional_jump, word, branch_target(word, address, 14)};
  if (is(0xfe000000, 0xd6000000)) return {register_branch(word), word, 0};
  if (is(0xffff0000, 0)) return {Form::end, word, 0};  // udf
  return {Form::plain, word, 0};
}

}  // namespace blastoff::intercept::patch::aarch64
