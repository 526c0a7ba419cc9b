#include "scalapack/place_book.h"

#include <algorithm>

namespace blastoff::scalapack {

PlaceBook::Name PlaceBook::name_of(const DistributedMatrix& matrix) {
  return {matrix.address, matrix.layout, matrix.row, matrix.column, matrix.rows, matrix.columns, matrix.element_bytes};
}

/// One that this call does not use yet.
PlaceBook::Place* PlaceBook::find(const Name& name, std::size_t bytes) {
  const auto found = std::ranges::find_if(
      places_, [&](const Place& place) { return place.call != call_ && place.bytes == bytes && place.name == name; });
  return found == places_.end() ? nullptr : &*found;
}

/// The first room between places.
std::optional<std::size_t> PlaceBook::gap(std::size_t bytes, std::size_t most) const {
  std::size_t begin = 0;
  for (const Place& place : places_) {
    if (begin + bytes <= place.begin) return begin;
    begin = place.begin + place.bytes;
  }
  if (begin + bytes <= most) return begin;
  return std::nullopt;
}

std::optional<std::size_t> PlaceBook::make_room(std::size_t bytes, std::size_t most) {
  for (;;) {
    if (const auto begin = gap(bytes, most)) return begin;
    const auto oldest = std::ranges::min_element(places_, {}, &Place::call);
    if (oldest == places_.end() || oldest->call == call_) return std::nullopt;
    places_.erase(oldest);
  }
}

/// False: what this call uses lies so that there is no room for the rest.
bool PlaceBook::find_all(const Call& call, const Places& sizes, std::size_t most, FoundPlaces& found) {
  const std::span<const MatrixRule> rules = call.rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Place* const place = find(name_of(call.matrix(rules[i])), sizes.matrix_bytes(i));
    if (place == nullptr || sizes.matrix_bytes(i) == 0 || place->begin + place->bytes > most) continue;
    place->call = call_;
    found.begins.matrices[i] = place->begin;
    found.held |= 1U << i;
  }
  const auto add = [&](const Name& name, std::size_t bytes, std::size_t& begin) {
    const std::optional<std::size_t> room = make_room(bytes, most);
    if (!room) return false;
    begin = *room;
    const auto next = std::ranges::upper_bound(places_, begin, {}, &Place::begin);
    places_.insert(next, Place{name, begin, bytes, call_});
    return true;
  };
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::size_t bytes = sizes.matrix_bytes(i);
    if (bytes > 0 && !found.holds(i) && !add(name_of(call.matrix(rules[i])), bytes, found.begins.matrices[i]))
      return false;
  }
  if (sizes.vector_bytes() == 0) return true;
  const std::optional<std::size_t> room = make_room(sizes.vector_bytes(), most);
  found.begins.vectors = room.value_or(0);
  return room.has_value();
}

void PlaceBook::rename(std::size_t begin, const Name& name) {
  std::erase_if(places_, [&](const Place& place) { return place.begin != begin && place.name == name; });
  std::ranges::find(places_, begin, &Place::begin)->name = name;
}

FoundPlaces PlaceBook::find(const Call& call, const Places& sizes, std::size_t most) {
  ++call_;
  FoundPlaces found;
  if (!find_all(call, sizes, most, found)) {
    places_.clear();
    found = {};
    find_all(call, sizes, most, found);
  }
  if (call.vectors_lie_in_a()) {
    found.begins.matrices[1] = found.begins.matrices[0];
    if (call.wants_vectors()) rename(found.begins.matrices[0], name_of(call.matrix(call.rules()[1])));
  }
  return found;
}

}  // namespace blastoff::scalapack
