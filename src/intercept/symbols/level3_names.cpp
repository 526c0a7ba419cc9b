#include "intercept/symbols/level3_names.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace blastoff::intercept {
namespace {

using Block = std::uint8_t __attribute__((vector_size(16)));
using Mask = std::int8_t __attribute__((vector_size(16)));

/// Maps capitals to small letters, keeps small letters and digits.
constexpr std::uint8_t small = 0x20;

constexpr std::size_t stem_length = 4;

Block load(const char* from) {
  Block block;
  std::memcpy(&block, from, sizeof block);
  return block | small;
}

bool any(const Mask& mask) {
  std::uint64_t halves[2];
  std::memcpy(halves, &mask, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

/// Whether gemm, symm, hemm, trmm, trsm, syrk, herk, syr2 or her2 begins at one of the 16 bytes from `from`.
bool block_has_stem(const char* from) {
  const Block third = load(from + 2);
  const Block fourth = load(from + 3);
  const Mask mm = (third == 'm') & (fourth == 'm');
  const Mask sm = (third == 's') & (fourth == 'm');
  const Mask rk = (third == 'r') & ((fourth == 'k') | (fourth == '2'));
  if (!any(mm | sm | rk)) return false;  // most
  const Block first = load(from);
  const Block second = load(from + 1);
  const Mask he = (first == 'h') & (second == 'e');
  const Mask sy = (first == 's') & (second == 'y');
  const Mask tr = (first == 't') & (second == 'r');
  const Mask ge = (first == 'g') & (second == 'e');
  return any((mm & (he | sy | tr | ge)) | (tr & sm) | (rk & (he | sy)));
}

constexpr std::uint32_t packed(const char (&stem)[stem_length + 1]) {
  std::uint32_t value = 0;
  for (std::size_t i = stem_length; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(stem[i]);
  return value;
}

/// Whether a routine's name, its type letter included, has its second letter at `place`.
bool is_routine(std::string_view strings, std::size_t place) {
  if (strings.size() - place < stem_length) return false;
  switch (strings[place - 1] | small) {
    case 's':
    case 'd':
    case 'c':
    case 'z': break;
    default: return false;
  }
  std::uint32_t stem;
  std::memcpy(&stem, strings.data() + place, sizeof stem);
  switch (stem | 0x20202020U) {
    case packed("gemm"):
    case packed("symm"):
    case packed("hemm"):
    case packed("trmm"):
    case packed("trsm"):
    case packed("syrk"):
    case packed("herk"): return true;
    case packed("syr2"):
    case packed("her2"): return strings.size() - place > stem_length && (strings[place + stem_length] | small) == 'k';
    default: return false;
  }
}

constexpr std::size_t nowhere = std::string_view::npos;

}  // namespace

std::size_t find_level3_name(std::string_view strings, std::size_t from) {
  constexpr std::size_t reach = sizeof(Block) + stem_length - 1;
  for (std::size_t place = from + 1; place < strings.size();) {
    const std::size_t left = strings.size() - place;
    if (left >= reach && !block_has_stem(strings.data() + place)) {
      place += sizeof(Block);
      continue;
    }
    const std::size_t end = place + std::min(left, sizeof(Block));
    for (; place < end; ++place)
      if (is_routine(strings, place)) return place - 1;
  }
  return nowhere;
}

std::optional<TableString> next_level3_string(std::string_view strings, std::size_t from) {
  for (std::size_t place = from; (place = find_level3_name(strings, place)) != nowhere;) {
    const std::size_t end = strings.find('\0', place);
    if (end == nowhere) break;
    const std::size_t begin = strings.rfind('\0', place) + 1;  // npos + 1 is 0
    if (!strings.substr(begin).starts_with("_Z")) return TableString{begin, end};
    place = end;
  }
  return std::nullopt;
}

}  // namespace blastoff::intercept
