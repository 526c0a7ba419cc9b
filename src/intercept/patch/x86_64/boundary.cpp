#include "intercept/patch/x86_64/boundary.h"

#include <algorithm>
#include <array>

#include "intercept/patch/disassembler.h"

namespace blastoff::intercept::patch::x86_64 {
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
