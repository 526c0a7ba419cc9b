#include "ledger/states.h"

#include <algorithm>

namespace blastoff::ledger {

/// Calls visit(number, group) for the groups of the span of which anything is open, each under its lock. A group of
/// which nothing is open afterwards goes.
template <class Visit>
void States::each_group(Span span, Visit&& visit) {
  if (span.empty()) return;
  const std::uintptr_t first = span.begin / group_bytes;
  const std::uintptr_t last = (span.end - 1) / group_bytes;
  const auto is_empty = [](const auto& entry) {
    return std::ranges::all_of(entry.second.places, [](const auto& chunks) { return chunks == nullptr; });
  };
  constexpr std::uintptr_t few = 4096;
  if (last - first < few) {
    for (std::uintptr_t number = first; number <= last; ++number) {
      Stripe& stripe = stripes_[number % stripes];
      const std::lock_guard lock(stripe.mutex);
      const auto found = stripe.groups.find(number);
      if (found == stripe.groups.end()) continue;
      visit(number, found->second);
      if (is_empty(*found)) stripe.groups.erase(found);
    }
    return;
  }
  for (Stripe& stripe : stripes_) {
    const std::lock_guard lock(stripe.mutex);
    for (auto& [number, group] : stripe.groups)
      if (first <= number && number <= last) visit(number, group);
    std::erase_if(stripe.groups, is_empty);
  }
}

/// Calls visit(chunk, begin, end) for the chunks of the group that the span touches, ascending: the chunk's number
/// within the group, and the bytes of the chunk that belong to the span.
template <class Visit>
void States::each_part(std::uintptr_t group, Span span, Visit&& visit) {
  const std::uintptr_t base = group * group_bytes;
  const std::uintptr_t end = std::min<std::uintptr_t>(span.end - base, group_bytes);
  for (std::uintptr_t at = span.begin > base ? span.begin - base : 0; at < end;) {
    const std::uintptr_t chunk = at / chunk_bytes;
    const std::uintptr_t stop = std::min<std::uintptr_t>(end, (chunk + 1) * chunk_bytes);
    visit(chunk, at % chunk_bytes, stop - chunk * chunk_bytes);
    at = stop;
  }
}

void States::open(std::size_t place, Span span) {
  if (span.empty()) return;
  for (std::uintptr_t number = span.begin / group_bytes; number <= (span.end - 1) / group_bytes; ++number) {
    Stripe& stripe = stripes_[number % stripes];
    const std::lock_guard lock(stripe.mutex);
    Group& group = stripe.groups[number];
    if (group.places.size() <= place) group.places.resize(place + 1);
    auto& chunks = group.places[place];
    if (!chunks) chunks = std::make_unique<Chunks>();
    each_part(number, span, [&](std::size_t chunk, std::size_t, std::size_t) {
      const std::uint64_t bit = std::uint64_t{1} << chunk;
      if ((chunks->open & bit) == 0) chunks->invalid[chunk].set(0, max_pages_per_chunk);
      chunks->open |= bit;
    });
  }
}

void States::close(std::size_t place, Span span) {
  each_group(span, [&](std::uintptr_t number, Group& group) {
    if (place >= group.places.size() || !group.places[place]) return;
    Chunks& chunks = *group.places[place];
    each_part(number, span, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      if (begin == 0 && end == chunk_bytes) chunks.open &= ~(std::uint64_t{1} << chunk);
    });
    if (chunks.open == 0) group.places[place].reset();
  });
}

// What is not open has a bitmap as well, which open() fills.
void States::invalidate(Span span, std::size_t except) {
  const std::size_t page = platform::page_size();
  each_group(span, [&](std::uintptr_t number, Group& group) {
    for (std::size_t place = 0; place < group.places.size(); ++place) {
      if (place == except || !group.places[place]) continue;
      each_part(number, span, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
        group.places[place]->invalid[chunk].set(begin / page, (end + page - 1) / page);
      });
    }
  });
}

void States::look(std::size_t place, Span span, std::vector<Span>& runs, bool take) {
  const std::size_t page = platform::page_size();
  each_group(span, [&](std::uintptr_t number, Group& group) {
    if (place >= group.places.size() || !group.places[place]) return;
    Chunks& chunks = *group.places[place];
    each_part(number, span, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      PageBitmap& invalid = chunks.invalid[chunk];
      if ((chunks.open >> chunk & 1) == 0 || !invalid.any(begin / page, end / page)) return;
      const std::uintptr_t base = number * group_bytes + chunk * chunk_bytes;
      invalid.each([&](std::size_t number_of_page) {
        const Span one{base + number_of_page * page, base + (number_of_page + 1) * page};
        if (number_of_page * page < begin || number_of_page * page >= end) return;
        if (!runs.empty() && runs.back().end == one.begin)
          runs.back().end = one.end;
        else
          runs.push_back(one);
      });
      if (take) invalid.clear(begin / page, end / page);
    });
  });
}

bool States::any_open(std::size_t place, Span span) {
  bool any = false;
  each_group(span, [&](std::uintptr_t number, Group& group) {
    if (place >= group.places.size() || !group.places[place]) return;
    each_part(number, span, [&](std::size_t chunk, std::size_t, std::size_t) {
      any = any || (group.places[place]->open >> chunk & 1) != 0;
    });
  });
  return any;
}

}  // namespace blastoff::ledger
