#include "intercept/patch/x86_64/relocate.h"

#include <limits>

namespace blastoff::intercept::patch::x86_64 {
namespace {

/// An instruction that loads a register from a rip-relative operand.
struct Load {
  bool wide;        ///< 64 bits, otherwise 32
  unsigned number;  ///< number of the register
  bool is_lea;
};

/// Recognises lea or mov of a whole general register, with no prefix but REX.
std::optional<Load> parse_load(const Instruction& instruction, std::span<const std::byte> bytes) {
  const bool has_rex = bytes.size() == 7 && (bytes[0] & std::byte{0xf0}) == std::byte{0x40};
  if ((bytes.size() != 6 && !has_rex) || instruction.displacement + sizeof(std::int32_t) != bytes.size()) return {};
  const unsigned rex = has_rex ? std::to_integer<unsigned>(bytes[0]) : 0;
  const auto opcode = std::to_integer<unsigned>(bytes[bytes.size() - 6]);
  const auto modrm = std::to_integer<unsigned>(bytes[bytes.size() - 5]);
  if (opcode != 0x8d && opcode != 0x8b) return {};
  return Load{(rex & 8U) != 0, ((modrm >> 3U) & 7U) | (rex & 4U) << 1U, opcode == 0x8d};
}

void put_constant(CodeBuffer& out, const Load& load, std::uint64_t value, bool wide) {
  const unsigned rex_b = load.number >> 3U;
  if (wide) {
    out.put_bytes({0x48U | rex_b});
  } else if (rex_b != 0) {
    out.put_bytes({0x41});
  }
  out.put_bytes({0xb8U | (load.number & 7U)});
  if (wide) {
    out.put_value(value);
  } else {
    out.put_value(static_cast<std::uint32_t>(value));
  }
}

/// The address can be put into the register that the load overwrites.
std::optional<Obstacle> put_far_load(CodeBuffer& out, const Load& load, std::uint64_t target) {
  constexpr unsigned stack_pointer = 4;
  if (load.number == stack_pointer) return Obstacle::out_of_reach;
  if (load.is_lea) {
    put_constant(out, load, target, load.wide);
    return {};
  }
  put_constant(out, load, target, true);
  const unsigned low = load.number & 7U;
  const unsigned rex = (load.wide ? 8U : 0U) | (load.number >> 3U) * 5U;
  if (rex != 0) out.put_bytes({0x40U | rex});
  out.put_bytes({0x8b, 0x40U | low << 3U | low});
  if (low == stack_pointer) out.put_bytes({0x24});  // the encoding for r12 needs one byte more
  out.put_bytes({0});
  return {};
}

std::optional<Obstacle> put_rip_relative(const Instruction& instruction, std::span<const std::byte> bytes,
                                         CodeBuffer& out) {
  const std::uint64_t behind = out.here() + bytes.size();
  if (!reaches(behind, instruction.target)) {
    const std::optional<Load> load = parse_load(instruction, bytes);
    return load ? put_far_load(out, *load, instruction.target) : Obstacle::out_of_reach;
  }
  out.put(bytes.first(instruction.displacement));
  out.put_value(static_cast<std::int32_t>(instruction.target - behind));
  out.put(bytes.subspan(instruction.displacement + sizeof(std::int32_t)));
  return {};
}

/// This instruction has no form with a longer displacement, so it hops to a jump.
void put_counted_jump(const Instruction& instruction, std::span<const std::byte> bytes, CodeBuffer& out) {
  constexpr unsigned short_jump_size = 2;
  CodeBuffer jump(out.here() + bytes.size() + short_jump_size);
  put_jump(jump, instruction.target);
  out.put(bytes.first(bytes.size() - 1));
  out.put_bytes({short_jump_size, 0xeb, static_cast<unsigned>(jump.size())});
  out.put(std::move(jump).take());
}

}  // namespace

std::optional<Obstacle> relocate(const Instruction& instruction, std::span<const std::byte> bytes, CodeBuffer& out) {
  switch (instruction.form) {
    case Form::plain: out.put(bytes); return {};
    case Form::rip_relative: return put_rip_relative(instruction, bytes, out);
    case Form::jump: put_jump(out, instruction.target); return {};
    case Form::conditional_jump: put_conditional_jump(out, instruction.condition, instruction.target); return {};
    case Form::counted_jump: put_counted_jump(instruction, bytes, out); return {};
    case Form::call: put_call(out, instruction.target); return {};
    case Form::immovable: break;
  }
  return Obstacle::unknown_instruction;
}

namespace {

constexpr unsigned near_jump_size = 5;
constexpr unsigned far_jump_size = 14;

void put_displacement(CodeBuffer& out, std::uint64_t target) {
  const std::uint64_t behind = out.here() + sizeof(std::int32_t);
  out.put_value(static_cast<std::int32_t>(target - behind));
}

}  // namespace

bool reaches(std::uint64_t behind, std::uint64_t target) {
  const auto distance = static_cast<std::int64_t>(target - behind);
  return distance >= std::numeric_limits<std::int32_t>::min() && distance <= std::numeric_limits<std::int32_t>::max();
}

void put_jump(CodeBuffer& out, std::uint64_t target) {
  if (reaches(out.here() + near_jump_size, target)) {
    out.put_bytes({0xe9});
    put_displacement(out, target);
  } else {
    out.put_bytes({0xff, 0x25, 0, 0, 0, 0});  // jmp *[rip + 0]
    out.put_value(target);
  }
}

void put_conditional_jump(CodeBuffer& out, std::uint8_t condition, std::uint64_t target) {
  if (reaches(out.here() + near_jump_size + 1, target)) {
    out.put_bytes({0x0f, 0x80U | condition});
    put_displacement(out, target);
  } else {
    out.put_bytes({0x70U | (condition ^ 1U), far_jump_size});  // the opposite condition skips the jump
    put_jump(out, target);
  }
}

void put_call(CodeBuffer& out, std::uint64_t target) {
  if (reaches(out.here() + near_jump_size, target)) {
    out.put_bytes({0xe8});
    put_displacement(out, target);
  } else {
    out.put_bytes({0xff, 0x15, 2, 0, 0, 0, 0xeb, sizeof target});  // call *[rip + 2]; jmp over the address
    out.put_value(target);
  }
}

}  // namespace blastoff::intercept::patch::x86_64
