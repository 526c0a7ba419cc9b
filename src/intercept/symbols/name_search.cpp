#include "intercept/symbols/name_search.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>

#include "intercept/front_ends.h"

namespace blastoff::intercept {
namespace {

/// A bit: setting it maps capitals to small letters, and keeps small letters and digits.
constexpr std::uint8_t small = 0x20;

/// The search looks first for a stem: the four characters behind the first one, which is mostly the letter of a type.
constexpr std::size_t stem_length = 4;

static_assert(std::all_of(routine_names.begin(), routine_names.end(),
                          [](std::string_view name) { return name.size() > stem_length; }));

constexpr std::uint8_t folded(char letter) {
  return static_cast<std::uint8_t>(letter) | small;
}

constexpr std::uint32_t packed_stem(std::string_view name) {
  std::uint32_t value = 0;
  for (std::size_t i = stem_length; i > 0; --i) value = value << 8 | folded(name[i]);
  return value;
}

/// The first three or the last three characters of a stem begin at an even place of the text, wherever the stem begins.
/// So the search reads three characters at every second place.
constexpr std::size_t step = 2;

constexpr std::uint32_t multiplier = 0x9e3779b1U;  // 2^32 divided by the golden ratio

/// A hash of three characters, the first in the lowest byte. Capitals have the hash of the small letters. With thirteen
/// bits, one in seventy other triples has a hash of a stem's.
constexpr std::size_t triple_bits = 13;
constexpr std::size_t hash_of_triple(std::uint32_t characters) {
  return ((characters & 0x1f1f1fU) * multiplier) >> (32 - triple_bits);
}

/// For each hash of three characters, bit 0: some stem begins with them; bit 1: some stem ends with them.
constexpr auto triples_in_stems() {
  std::array<std::uint8_t, std::size_t{1} << triple_bits> triples{};
  for (const std::string_view name : routine_names)
    for (const unsigned end : {0U, 1U})
      triples[hash_of_triple(packed_stem(name) >> 8 * end)] |= static_cast<std::uint8_t>(1U << end);
  return triples;
}

/// A bit for each hash, set for the hashes of stems. With fourteen bits, one in a hundred other words passes.
constexpr std::size_t hash_bits = 14;
constexpr std::size_t hash_of(std::uint32_t stem) {
  return (stem * multiplier) >> (32 - hash_bits);
}

constexpr auto hashed_stems() {
  std::array<std::uint64_t, (std::size_t{1} << hash_bits) / 64> bits{};
  for (const std::string_view name : routine_names)
    bits[hash_of(packed_stem(name)) / 64] |= std::uint64_t{1} << hash_of(packed_stem(name)) % 64;
  return bits;
}

bool may_be_stem(std::uint32_t value) {
  static constexpr auto bits = hashed_stems();
  return (bits[hash_of(value) / 64] >> hash_of(value) % 64 & 1) != 0;
}

/// The routines, sorted by the hashes of their stems and then by stem. About four routines share a stem.
struct NumberedStem {
  std::uint32_t stem;
  std::uint16_t number;  ///< number in routine_names
};

constexpr auto sorted_stems() {
  std::array<NumberedStem, routine_names.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {packed_stem(routine_names[i]), static_cast<std::uint16_t>(i)};
  std::sort(all.begin(), all.end(), [](const NumberedStem& left, const NumberedStem& right) {
    return std::tuple(hash_of(left.stem), left.stem, left.number) <
           std::tuple(hash_of(right.stem), right.stem, right.number);
  });
  return all;
}

constexpr auto numbered_stems = sorted_stems();

/// For each hash, where its stems begin; at the end, where the last stems end.
constexpr auto places_of_hashes() {
  std::array<std::uint16_t, (std::size_t{1} << hash_bits) + 1> places{};
  std::size_t place = 0;
  for (std::size_t hash = 0; hash < places.size(); ++hash) {
    while (place < numbered_stems.size() && hash_of(numbered_stems[place].stem) < hash) ++place;
    places[hash] = static_cast<std::uint16_t>(place);
  }
  return places;
}

std::uint32_t stem_at(const char* place) {
  std::uint32_t value;
  std::memcpy(&value, place, sizeof value);
  return value | 0x20202020U;
}

/// The numbers of the routines with this stem.
std::span<const NumberedStem> routines_with(std::uint32_t stem) {
  static constexpr auto places = places_of_hashes();
  const std::size_t hash = hash_of(stem);
  const NumberedStem* first = numbered_stems.data() + places[hash];
  const NumberedStem* last = numbered_stems.data() + places[hash + 1];
  while (first != last && first->stem != stem) ++first;
  const NumberedStem* behind = first;
  while (behind != last && behind->stem == stem) ++behind;
  return {first, behind};
}

bool begins_with(std::string_view strings, std::string_view name) {
  return strings.size() >= name.size() && std::equal(name.begin(), name.end(), strings.begin(),
                                                     [](char own, char given) { return folded(own) == folded(given); });
}

/// Whether the stem of a routine's name is at `place`.
bool is_routine(std::string_view strings, std::size_t place) {
  if (place + stem_length > strings.size()) return false;
  const std::uint32_t stem = stem_at(strings.data() + place);
  if (!may_be_stem(stem)) return false;
  const std::string_view from = strings.substr(place - 1);
  const auto routines = routines_with(stem);
  return std::any_of(routines.begin(), routines.end(),
                     [&](const NumberedStem& routine) { return begins_with(from, routine_names[routine.number]); });
}

/// Whether `strings` begins with `name`, with all letters small or, if `capitals`, all capitals.
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

std::size_t find_text(std::string_view strings, std::string_view text, std::size_t from) {
  if (from >= strings.size()) return nowhere;
  const void* const found = memmem(strings.data() + from, strings.size() - from, text.data(), text.size());
  if (found == nullptr) return nowhere;
  return static_cast<std::size_t>(static_cast<const char*>(found) - strings.data());
}

std::size_t find_routine_name(std::string_view strings, std::size_t from) {
  static constexpr auto triples = triples_in_stems();
  std::size_t place = from + step;
  for (; place + stem_length <= strings.size(); place += step) {
    const unsigned possible = triples[hash_of_triple(stem_at(strings.data() + place))];
    if (possible == 0) [[likely]]
      continue;
    for (const unsigned end : {1U, 0U})
      if ((possible >> end & 1U) != 0 && is_routine(strings, place - end)) return place - end - 1;
  }
  return is_routine(strings, place - 1) ? place - 2 : nowhere;
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
