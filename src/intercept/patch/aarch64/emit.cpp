#include "intercept/patch/aarch64/emit.h"

#include "intercept/patch/aarch64/instruction.h"

namespace blastoff::intercept::patch::aarch64 {
namespace {

constexpr std::uint64_t page_size = 4096;

void put_word(CodeBuffer& out, std::uint32_t word) {
  out.put_value(word);
}

/// Whether `value` fits a signed field of `width` bits.
bool fits(std::int64_t value, unsigned width) {
  const std::int64_t limit = std::int64_t{1} << (width - 1);
  return value >= -limit && value < limit;
}

std::uint32_t field(std::int64_t value, unsigned width, unsigned low) {
  return (static_cast<std::uint32_t>(value) & ((1U << width) - 1)) << low;
}

/// The distance to `target`, in instructions.
std::int64_t distance_to(const CodeBuffer& out, std::uint64_t target) {
  return static_cast<std::int64_t>(target - out.here()) / instruction_size;
}

constexpr std::uint32_t branch(unsigned instructions) {
  return 0x14000000U | instructions;
}
/// ldr x<number>, from `instructions` instructions ahead
constexpr std::uint32_t load_literal(unsigned number, unsigned instructions) {
  return 0x58000000U | instructions << 5U | number;
}
constexpr std::uint32_t branch_to_register(unsigned number, bool by_return) {
  return (by_return ? 0xd65f0000U : 0xd61f0000U) | number << 5U;
}

}  // namespace

void put_jump(CodeBuffer& out, std::uint64_t target, FarBranch far) {
  const std::int64_t distance = distance_to(out, target);
  if (fits(distance, 26)) {
    put_word(out, 0x14000000U | field(distance, 26, 0));
    return;
  }
  put_word(out, load_literal(far.scratch, 2));
  put_word(out, branch_to_register(far.scratch, far.by_return));
  out.put_value(target);
}

void put_conditional_jump(CodeBuffer& out, std::uint32_t word, std::uint64_t target, FarBranch far) {
  const bool tests_bit = (word & 0x7e000000U) == 0x36000000U;
  const bool tests_flags = (word & 0xff000000U) == 0x54000000U;
  const unsigned width = tests_bit ? 14 : 19;
  const std::uint32_t without_target = word & ~field(-1, width, 5);
  const std::int64_t distance = distance_to(out, target);
  if (fits(distance, width)) {
    put_word(out, without_target | field(distance, width, 5));
    return;
  }
  // The opposite condition skips a jump.
  CodeBuffer jump(out.here() + instruction_size);
  put_jump(jump, target, far);
  const auto skipped = static_cast<std::int64_t>(jump.size() / instruction_size) + 1;
  put_word(out, (without_target ^ (tests_flags ? 1U : 1U << 24U)) | field(skipped, width, 5));
  out.put(std::move(jump).take());
}

void put_call(CodeBuffer& out, std::uint64_t target, FarBranch far) {
  const std::int64_t distance = distance_to(out, target);
  if (fits(distance, 26)) {
    put_word(out, 0x94000000U | field(distance, 26, 0));
    return;
  }
  put_word(out, load_literal(far.scratch, 3));
  if (far.by_return) {
    put_word(out, 0x1000009eU);  // adr x30, behind the address
    put_word(out, branch_to_register(far.scratch, true));
  } else {
    put_word(out, 0xd63f0000U | far.scratch << 5U);  // blr
    put_word(out, branch(3));
  }
  out.put_value(target);
}

void put_address(CodeBuffer& out, unsigned number, std::uint64_t value) {
  const auto pages = static_cast<std::int64_t>(value / page_size - out.here() / page_size);
  const std::uint64_t within = value % page_size;
  if (fits(pages, 21)) {
    put_word(out, 0x90000000U | field(pages, 2, 29) | field(pages >> 2, 19, 5) | number);  // adrp
    if (within != 0)
      put_word(out, 0x91000000U | field(static_cast<std::int64_t>(within), 12, 10) | number << 5U | number);
    return;
  }
  put_word(out, 0xd2800000U | field(static_cast<std::int64_t>(value), 16, 5) | number);  // movz
  for (unsigned part = 1; part < 4; ++part) {
    const auto bits = static_cast<std::int64_t>((value >> (16 * part)) & 0xffffU);
    if (bits != 0) put_word(out, 0xf2800000U | part << 21U | field(bits, 16, 5) | number);  // movk
  }
}

}  // namespace blastoff::intercept::patch::aarch64
