#include "intercept/symbols/name_search.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "intercept/front_ends.h"

namespace blastoff::intercept {
namespace {

using Block = std::uint8_t __attribute__((vector_size(16)));
using Mask = std::int8_t __attribute__((vector_size(16)));

/// Maps capitals to small letters, keeps small letters and digits.
constexpr std::uint8_t small = 0x20;

/// What is looked for first: the four characters behind the first one, which is mostly the letter of a type.
constexpr std::size_t stem_length = 4;

static_assert(std::all_of(routine_names.begin(), routine_names.end(),
                          [](std::string_view name) { return name.size() > stem_length; }));

struct Pair {
  std::uint8_t first;
  std::uint8_t second;
  bool operator==(const Pair& other) const = default;
};

/// Each once. Unused places are left out by `count`.
template <class Element>
struct Distinct {
  std::array<Element, routine_names.size()> elements{};
  std::size_t count = 0;

  constexpr void add(const Element& element) {
    if (std::find(elements.begin(), elements.begin() + count, element) == elements.begin() + count)
      elements[count++] = element;
  }
};

constexpr std::uint8_t folded(char letter) {
  return static_cast<std::uint8_t>(letter) | small;
}

/// The characters that stand at `place` and behind it in any name.
constexpr Distinct<Pair> pairs_at(std::size_t place) {
  Distinct<Pair> pairs;
  for (const std::string_view name : routine_names) pairs.add({folded(name[place]), folded(name[place + 1])});
  return pairs;
}

constexpr std::uint32_t packed_stem(std::string_view name) {
  std::uint32_t value = 0;
  for (std::size_t i = stem_length; i > 0; --i) value = value << 8 | folded(name[i]);
  return value;
}

constexpr Distinct<std::uint32_t> all_stems() {
  Distinct<std::uint32_t> stems;
  for (const std::string_view name : routine_names) stems.add(packed_stem(name));
  return stems;
}

constexpr Distinct<Pair> stem_begins = pairs_at(1);
constexpr Distinct<Pair> stem_ends = pairs_at(3);
constexpr Distinct<std::uint32_t> stems = all_stems();

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

constexpr bool begin_alike(const Distinct<Pair>& pairs, std::size_t i, std::size_t j) {
  return pairs.elements[i].first == pairs.elements[j].first;
}

/// Where a character is one of those that follow the first character of pair `i`; nowhere if an earlier pair has the
/// same first character. All of this is unrolled: what names there are, is known.
template <const Distinct<Pair>& pairs, std::size_t i>
[[gnu::always_inline]] inline Mask follow(const Block& second) {
  return [&]<std::size_t... j>(std::index_sequence<j...>) {
    if constexpr (((j < i && begin_alike(pairs, i, j)) || ...)) {
      return Mask{};
    } else {
      return ((begin_alike(pairs, i, j) ? second == pairs.elements[j].second : Mask{}) | ...);
    }
  }
  (std::make_index_sequence<pairs.count>());
}

/// Where two characters that follow each other are one of the pairs.
template <const Distinct<Pair>& pairs>
[[gnu::always_inline]] inline Mask are_pair(const Block& first, const Block& second) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return (((first == pairs.elements[i].first) & follow<pairs, i>(second)) | ...);
  }
  (std::make_index_sequence<pairs.count>());
}

/// Whether a stem may begin at one of the 16 bytes from `from`.
bool block_may_have_stem(const char* from) {
  const Mask ends = are_pair<stem_ends>(load(from + 2), load(from + 3));
  if (!any(ends)) return false;  // most
  return any(ends & are_pair<stem_begins>(load(from), load(from + 1)));
}

/// Set bits: hashes of stems. Fourteen bits let one of a hundred other words pass.
constexpr std::size_t hash_bits = 14;
constexpr std::size_t hash_of(std::uint32_t stem) {
  return (stem * 0x9e3779b1U) >> (32 - hash_bits);
}

constexpr auto hashed_stems() {
  std::array<std::uint64_t, (std::size_t{1} << hash_bits) / 64> bits{};
  for (std::size_t i = 0; i < stems.count; ++i)
    bits[hash_of(stems.elements[i]) / 64] |= std::uint64_t{1} << hash_of(stems.elements[i]) % 64;
  return bits;
}

bool may_be_stem(std::uint32_t value) {
  static constexpr auto bits = hashed_stems();
  return (bits[hash_of(value) / 64] >> hash_of(value) % 64 & 1) != 0;
}

/// The routines by stem: some four have the same.
struct NumberedStem {
  std::uint32_t stem;
  std::uint16_t number;  ///< in routine_names
};

constexpr auto sorted_stems() {
  std::array<NumberedStem, routine_names.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {packed_stem(routine_names[i]), static_cast<std::uint16_t>(i)};
  std::sort(all.begin(), all.end(), [](const NumberedStem& left, const NumberedStem& right) {
    return std::pair(left.stem, left.number) < std::pair(right.stem, right.number);
  });
  return all;
}

constexpr auto numbered_stems = sorted_stems();

std::uint32_t stem_at(const char* place) {
  std::uint32_t value;
  std::memcpy(&value, place, sizeof value);
  return value | 0x20202020U;
}

/// The numbers of the routines with this stem.
std::span<const NumberedStem> routines_with(std::uint32_t stem) {
  const auto [first, last] =
      std::equal_range(numbered_stems.begin(), numbered_stems.end(), NumberedStem{stem, 0},
                       [](const NumberedStem& left, const NumberedStem& right) { return left.stem < right.stem; });
  return {first, last};
}

bool begins_with(std::string_view strings, std::string_view name) {
  return strings.size() >= name.size() && std::equal(name.begin(), name.end(), strings.begin(),
                                                     [](char own, char given) { return folded(own) == folded(given); });
}

/// Whether a routine's name has its stem at `place`.
bool is_routine(std::string_view strings, std::size_t place) {
  if (strings.size() - place < stem_length) return false;
  const std::uint32_t stem = stem_at(strings.data() + place);
  if (!may_be_stem(stem)) return false;
  const std::string_view from = strings.substr(place - 1);
  const auto routines = routines_with(stem);
  return std::any_of(routines.begin(), routines.end(),
                     [&](const NumberedStem& routine) { return begins_with(from, routine_names[routine.number]); });
}

/// All letters of `name` are small or all are capitals.
bool begins_with_exactly(std::string_view strings, std::string_view name, bool capitals) {
  if (strings.size() < name.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool letter = name[i] >= 'a';
    if (strings[i] != (capitals && letter ? name[i] - 'a' + 'A' : name[i])) return false;
  }
  return true;
}

constexpr std::size_t nowhere = std::string_view::npos;

}  // namespace

std::size_t find_routine_name(std::string_view strings, std::size_t from) {
  constexpr std::size_t reach = sizeof(Block) + stem_length - 1;
  for (std::size_t place = from + 1; place < strings.size();) {
    const std::size_t left = strings.size() - place;
    if (left >= reach && !block_may_have_stem(strings.data() + place)) {
      place += sizeof(Block);
      continue;
    }
    const std::size_t end = place + std::min(left, sizeof(Block));
    for (; place < end; ++place)
      if (is_routine(strings, place)) return place - 1;
  }
  return nowhere;
}

std::optional<std::size_t> longest_routine_name(std::string_view strings, bool capitals) {
  if (strings.size() <= stem_length) return std::nullopt;
  std::optional<std::size_t> longest;
  for (const NumberedStem& routine : routines_with(stem_at(strings.data() + 1))) {
    const std::string_view name = routine_names[routine.number];
    if (begins_with_exactly(strings, name, capitals) && (!longest || name.size() > routine_names[*longest].size()))
      longest = routine.number;
  }
  return longest;
}

std::optional<TableString> next_routine_string(std::string_view strings, std::size_t from) {
  for (std::size_t place = from; (place = find_routine_name(strings, place)) != nowhere;) {
    const std::size_t end = strings.find('\0', place);
    if (end == nowhere) break;
    const std::size_t begin = strings.rfind('\0', place) + 1;  // npos + 1 is 0
    if (!strings.substr(begin).starts_with("_Z")) return TableString{begin, end};
    place = end;
  }
  return std::nullopt;
}

}  // namespace blastoff::intercept
