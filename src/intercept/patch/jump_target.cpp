#include "intercept/patch/jump_target.h"

#include <cstring>

namespace blastoff::intercept::patch {
namespace {

/// Code from an address on. Bytes behind its end read as zero.
struct Reader {
  std::span<const std::byte> code;
  std::uint64_t address;

  template <class Integer>
  Integer at(std::size_t offset) const {
    Integer value{};
    if (offset <= code.size() && code.size() - offset >= sizeof value)
      std::memcpy(&value, code.data() + offset, sizeof value);
    return value;
  }

  Reader behind(std::size_t bytes) const {
    return bytes <= code.size() ? Reader{code.subspan(bytes), address + bytes} : *this;
  }
};

/// Returns the size of an instruction that pushes or pops a register; 0: it is another instruction.
std::size_t size_of_push_or_pop(Reader code) {
  const auto is_one = [](std::uint8_t opcode) { return (opcode & 0xf0U) == 0x50; };
  if (is_one(code.at<std::uint8_t>(0))) return 1;
  return code.at<std::uint8_t>(0) == 0x41 && is_one(code.at<std::uint8_t>(1)) ? 2 : 0;
}

std::optional<std::uint64_t> x86_64_target(Reader code) {
  constexpr std::uint32_t endbr64 = 0xfa1e0ff3;
  if (code.at<std::uint32_t>(0) == endbr64) code = code.behind(sizeof endbr64);
  while (const std::size_t size = size_of_push_or_pop(code)) code = code.behind(size);
  if (code.at<std::uint8_t>(0) == 0xe9)
    return code.address + 5 + static_cast<std::uint64_t>(std::int64_t{code.at<std::int32_t>(1)});
  const bool through_next_bytes = code.at<std::uint16_t>(0) == 0x25ff && code.at<std::uint32_t>(2) == 0;
  return through_next_bytes ? std::optional(code.at<std::uint64_t>(6)) : std::nullopt;
}

std::optional<std::uint64_t> aarch64_target(Reader code) {
  const auto first = code.at<std::uint32_t>(0);
  const bool landing_pad = (first & 0xffffff3fU) == 0xd503241f;  // bti, bti c, bti j, bti jc
  const bool signs = (first & 0xffffff3fU) == 0xd503233f;        // paciasp, pacibsp, autiasp, autibsp
  if (landing_pad || signs) code = code.behind(sizeof first);
  const auto jump = code.at<std::uint32_t>(0);
  if (jump >> 26 == 0x05)
    return code.address + static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(jump << 6) >> 4});
  const unsigned scratch = jump & 0x1fU;
  const bool loads_next_bytes = (jump & ~0x1fU) == 0x58000040 && (scratch == 16 || scratch == 17);
  const bool jumps_there = code.at<std::uint32_t>(4) == (0xd61f0000U | scratch << 5);
  return loads_next_bytes && jumps_there ? std::optional(code.at<std::uint64_t>(8)) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> jump_target(Architecture architecture, std::span<const std::byte> code,
                                         std::uint64_t address) {
  const Reader reader{code, address};
  return architecture == Architecture::x86_64 ? x86_64_target(reader) : aarch64_target(reader);
}

}  // namespace blastoff::intercept::patch
