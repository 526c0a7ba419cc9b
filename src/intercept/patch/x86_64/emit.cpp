#include "intercept/patch/x86_64/emit.h"

#include <limits>

namespace blastoff::intercept::patch::x86_64 {
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
