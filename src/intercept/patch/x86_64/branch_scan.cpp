#include "intercept/patch/x86_64/branch_scan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "intercept/patch/disassembler.h"

namespace blastoff::intercept::patch::x86_64 {
namespace {

using Code = std::span<const std::byte>;

constexpr std::int64_t largest_text = 1 << 28;
constexpr std::size_t longest_short_branch = 128;  // bytes back from the end of the branch
constexpr std::size_t displacement_size = sizeof(std::int32_t);
constexpr std::size_t longest_function = 1 << 24;  // within such a length, a displacement backwards ends with a byte
                                                   // 0xff

unsigned byte_at(Code code, std::size_t offset) {
  return std::to_integer<unsigned>(code[offset]);
}

/// Returns the offset to which the displacement that ends at `end` leads.
std::int64_t near_target(Code code, std::size_t end) {
  std::int32_t displacement = 0;
  std::memcpy(&displacement, &code[end - displacement_size], displacement_size);
  return static_cast<std::int64_t>(end) + displacement;
}

bool is_prefix(unsigned byte) {
  constexpr std::string_view legacy = "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3";
  return (byte & 0xf0U) == 0x40 || legacy.find(static_cast<char>(byte)) != std::string_view::npos;
}

/// Whether the byte at `opcode` may be the opcode of an instruction, and not only a part of another instruction.
bool may_be_opcode(Code code, std::size_t opcode) {
  for (std::size_t begin = opcode;; --begin) {
    if (instruction_boundary(code, begin) != Boundary::no) return true;
    const bool two_byte_prefix = begin >= 2 && byte_at(code, begin - 2) == 0xd5;
    if (two_byte_prefix) return true;
    if (begin == 0 || !is_prefix(byte_at(code, begin - 1))) return false;
  }
}

bool is_short_branch(Code code, std::size_t end, Range range) {
  const unsigned opcode = byte_at(code, end - 2);
  if (!((opcode >= 0x70 && opcode <= 0x7f) || (opcode >= 0xe0 && opcode <= 0xe3) || opcode == 0xeb)) return false;
  return range.holds(static_cast<std::int64_t>(end) + static_cast<std::int8_t>(byte_at(code, end - 1))) &&
         may_be_opcode(code, end - 2);
}

[[gnu::always_inline]] inline bool is_near_branch(Code code, std::size_t end, Range range) {
  if (end <= displacement_size || !range.holds(near_target(code, end))) return false;
  const std::size_t opcode = end - displacement_size - 1;
  const unsigned last = byte_at(code, opcode);
  if ((last == 0xe8 || last == 0xe9) && may_be_opcode(code, opcode)) return true;
  const unsigned first = opcode > 0 ? byte_at(code, opcode - 1) : 0;
  const bool two_bytes = (first == 0x0f && (last & 0xf0U) == 0x80) || (first == 0xc7 && last == 0xf8);  // jcc; xbegin
  return two_bytes && may_be_opcode(code, opcode - 1);
}

/// Whether the bytes before `end` are a `jmp` to an address in a register or a table. Its first two bytes end at `end`.
[[gnu::always_inline]] inline bool is_computed_jump(Code code, std::size_t end) {
  if (byte_at(code, end - 2) != 0xff) [[likely]]
    return false;
  const unsigned modrm = byte_at(code, end - 1);
  const bool computed = (modrm & 0xc0U) == 0xc0 || (modrm & 0x07U) == 0x04;
  return (modrm & 0x38U) == 0x20 && computed && may_be_opcode(code, end - 2);
}

/// Like last_branch_into(), but only looks behind `reach`, which lies behind the range. A displacement that leads back
/// from there ends with a byte 0xff, and a computed jump begins with one.
std::size_t last_branch_behind(std::size_t reach, Range range, Code code) {
  constexpr unsigned char mark = 0xff;
  std::size_t left = code.size();
  while (const void* const found = memrchr(code.data(), mark, left)) {
    left = static_cast<std::size_t>(static_cast<const std::byte*>(found) - code.data());
    if (left + 2 <= reach) return 0;
    if (left + 2 <= code.size() && is_computed_jump(code, left + 2)) return left + 1;
    if (left + 1 > reach && is_near_branch(code, left + 1, range)) return left;
  }
  return 0;
}

}  // namespace

std::size_t last_branch_into(Range range, Code code) {
  if (range.empty()) return 0;
  if (code.size() > longest_function) return code.size();
  // Short branches reach the range only from the bytes next to it. Only the last branch counts.
  const std::size_t short_reach = std::min(code.size(), range.end + longest_short_branch);
  if (const std::size_t last = last_branch_behind(short_reach, range, code)) return last;
  for (std::size_t end = short_reach; end >= 2; --end)
    if (is_short_branch(code, end, range) || is_near_branch(code, end, range) || is_computed_jump(code, end))
      return end - 1;
  return 0;
}

std::size_t next_call(Code code, std::size_t from) {
  for (std::size_t offset = from; offset + 1 < code.size(); ++offset) {
    const unsigned opcode = byte_at(code, offset);
    if (opcode == 0xff && (byte_at(code, offset + 1) & 0x38U) == 0x10) return offset;
    const std::size_t end = offset + 1 + displacement_size;
    if (opcode != 0xe8 || end > code.size()) continue;
    const std::int64_t target = near_target(code, end);
    const bool outside = target < 0 || target >= static_cast<std::int64_t>(code.size());
    if (outside && std::abs(target) < largest_text) return offset;
  }
  return code.size();
}

namespace {

using Code = std::span<const std::byte>;

Boundary seen_from_the_entry(Code code, std::size_t offset) {
  Disassembly walk(Architecture::x86_64, code, 0, Detail::none);
  std::size_t at = 0;
  while (at < offset) {
    const cs_insn* decoded = walk.next();
    if (decoded == nullptr) return Boundary::unknown;
    at += decoded->size;
  }
  return at == offset ? Boundary::yes : Boundary::no;
}

/// Decodes from each byte before `offset`, beginning with the nearest. One of any fifteen consecutive bytes begins an
/// instruction of the function.
Boundary seen_from_before(Code code, std::size_t offset) {
  constexpr int longest_instruction = 15;
  constexpr std::size_t window = 64;
  std::array<Boundary, window + 1> arrives{Boundary::yes};  // result of decoding from `i` bytes before `offset`
  int in_a_row = 0;                                         // number of consecutive results that agree
  for (std::size_t before = 1; before <= std::min(window, offset); ++before) {
    Disassembly walk(Architecture::x86_64, code.subspan(offset - before), 0, Detail::none);
    const cs_insn* decoded = walk.next();
    arrives[before] = decoded == nullptr       ? Boundary::unknown
                      : decoded->size > before ? Boundary::no
                                               : arrives[before - decoded->size];
    in_a_row = before > 1 && arrives[before] == arrives[before - 1] ? in_a_row + 1 : 1;
    if (in_a_row == longest_instruction) return arrives[before];
  }
  return Boundary::unknown;
}

}  // namespace

Boundary instruction_boundary(Code code, std::size_t offset) {
  // This many bytes hold fewer instructions than would be decoded before `offset`.
  constexpr std::size_t near_entry = 128;
  return offset <= near_entry ? seen_from_the_entry(code, offset) : seen_from_before(code, offset);
}

}  // namespace blastoff::intercept::patch::x86_64
