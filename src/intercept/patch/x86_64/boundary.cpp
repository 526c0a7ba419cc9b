#include "intercept/patch/x86_64/boundary.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "intercept/patch/disassembler.h"

namespace blastoff::intercept::patch::x86_64 {

bool begins_instruction(std::span<const std::byte> code, std::size_t offset) {
  constexpr int longest_instruction = 15;
  constexpr std::size_t window = 64;
  std::array<bool, window + 1> arrives{true};  // decoding from that many bytes before `offset`
  int in_a_row = 0;                            // that do; negative: that do not
  for (std::size_t before = 1; before <= std::min(window, offset); ++before) {
    Disassembly walk(Architecture::x86_64, code.subspan(offset - before), 0, Detail::none);
    const cs_insn* decoded = walk.next();
    arrives[before] = decoded != nullptr && decoded->size <= before && arrives[before - decoded->size];
    in_a_row = arrives[before] ? std::max(in_a_row, 0) + 1 : std::min(in_a_row, 0) - 1;
    if (std::abs(in_a_row) == longest_instruction) return in_a_row > 0;
  }
  return offset <= window && arrives[offset];
}

}  // namespace blastoff::intercept::patch::x86_64
