#include "ledger/states.h"

#include <algorithm>

#include "platform/left_memory.h"

namespace blastoff::ledger {

namespace {

/// Appends those of pages [first, last) of a chunk at `begin` that are in the bitmap, as runs.
void append_runs(const PageBitmap& pages, std::size_t first, std::size_t last, std::uintptr_t begin,
                 std::vector<Span>& runs) {
  if (!pages.any(first, last)) return;
  const std::size_t size = platform::page_size();
  const auto append = [&](std::size_t from, std::size_t to) {
    const Span run{begin + from * size, begin + to * size};
    if (!runs.empty() && runs.back().end == run.begin)
      runs.back().end = run.end;
    else
      runs.push_back(run);
  };
  if (pages.all(first, last)) return append(first, last);
  pages.each([&](std::size_t number) {
    if (number >= first && number < last) append(number, number + 1);
  });
}

}  // namespace

Loan::~Loan() {
  for (Copy* copy : copies_) {
    const auto lock = copy->lock();
    --copy->lent;
  }
}

void Loan::add(PagesOnDevice run) {
  PagesOnDevice* const last = runs_.empty() ? nullptr : &runs_.back();
  if (last && last->place == run.place && last->host.end == run.host.begin &&
      last->device + last->host.bytes() == run.device)
    last->host.end = run.host.end;
  else
    runs_.push_back(run);
}

/// Calls visit(part) for the chunks of the span that lie in this group, ascending.
template <class Visit>
void States::each_part_of(std::uintptr_t group, Span span, Visit&& visit) {
  const std::size_t page = platform::page_size();
  const std::uintptr_t base = group * group_bytes;
  const std::uintptr_t end = std::min<std::uintptr_t>(span.end - base, group_bytes);
  for (std::uintptr_t at = span.begin > base ? span.begin - base : 0; at < end;) {
    const std::uintptr_t chunk = at / chunk_bytes;
    const std::uintptr_t stop = std::min<std::uintptr_t>(end, (chunk + 1) * chunk_bytes);
    visit(Part{chunk, base + chunk * chunk_bytes, at % chunk_bytes / page,
               (stop - chunk * chunk_bytes + page - 1) / page});
    at = stop;
  }
}

/// Calls visit(group, part) for the chunks of the span, ascending within a group, in groups where anything is open;
/// each under its lock.
template <class Visit>
void States::each_part(Span span, Visit&& visit) {
  if (span.empty()) return;
  const std::uintptr_t first = span.begin / group_bytes;
  const std::uintptr_t last = (span.end - 1) / group_bytes;
  const auto visit_group = [&](std::uintptr_t number, Group& group) {
    each_part_of(number, span, [&](const Part& part) { visit(group, part); });
  };
  constexpr std::uintptr_t few = 4096;
  if (last - first < few) {
    for (std::uintptr_t number = first; number <= last; ++number) {
      Stripe& stripe = stripe_of(number);
      const std::lock_guard lock(stripe.mutex);
      if (const auto found = stripe.groups.find(number); found != stripe.groups.end())
        visit_group(number, found->second);
    }
    return;
  }
  for (Stripe& stripe : stripes_) {
    const std::lock_guard lock(stripe.mutex);
    for (auto& [number, group] : stripe.groups)
      if (first <= number && number <= last) visit_group(number, group);
  }
}

/// Calls visit(copy, part) for what is open at the place.
template <class Visit>
void States::each_copy(std::size_t place, Span span, Visit&& visit) {
  each_part(span, [&](Group& group, const Part& part) {
    if (place >= group.places.size()) return;
    if (Copy* const copy = group.places[place][part.chunk].get()) visit(*copy, part);
  });
}

/// Calls change() for what is newest of a copy, of which left_memory learns.
template <class Change>
void States::change_newest(Copy& copy, const Part& part, Change&& change) {
  const bool before = copy.newest.any(0, max_pages_per_chunk);
  change();
  const bool after = copy.newest.any(0, max_pages_per_chunk);
  if (after && !before) platform::left_memory.begin(part.begin);
  if (before && !after) platform::left_memory.end(part.begin);
}

// No lock: in a child of fork, a thread that it does not have may hold one.
States::~States() {
  for (const Stripe& stripe : stripes_)
    for (const auto& [number, group] : stripe.groups)
      for (const Copies& copies : group.places)
        for (std::size_t i = 0; i < copies.size(); ++i)
          if (copies[i] && copies[i]->newest.any(0, max_pages_per_chunk))
            platform::left_memory.end((number * chunks_of_group + i) * chunk_bytes);
}

Copy& States::open(std::size_t place, std::uintptr_t chunk, device::Address address) {
  const std::uintptr_t number = chunk / chunk_bytes;
  Stripe& stripe = stripe_of(number / chunks_of_group);
  const std::lock_guard lock(stripe.mutex);
  Group& group = stripe.groups[number / chunks_of_group];
  if (group.places.size() <= place) group.places.resize(place + 1);
  auto& copy = group.places[place][number % chunks_of_group];
  if (!copy) {
    copy = std::make_unique<Copy>();
    copy->address = address;
    copy->group = &stripe;
    ++group.open;
  }
  return *copy;
}

void States::close(std::size_t place, std::uintptr_t chunk) {
  const std::uintptr_t number = chunk / chunk_bytes;
  Stripe& stripe = stripe_of(number / chunks_of_group);
  const std::lock_guard lock(stripe.mutex);
  const auto found = stripe.groups.find(number / chunks_of_group);
  if (found == stripe.groups.end() || place >= found->second.places.size()) return;
  auto& copy = found->second.places[place][number % chunks_of_group];
  if (!copy) return;
  if (const std::size_t newest = copy->newest.count(0, max_pages_per_chunk)) {
    platform::left_memory.end(number * chunk_bytes);
    newest_ -= newest;
  }
  copy.reset();
  if (--found->second.open == 0) stripe.groups.erase(found);
}

void States::invalidate(Span span, std::size_t except) {
  each_part(span, [&](Group& group, const Part& part) {
    for (std::size_t place = 0; place < group.places.size(); ++place) {
      Copy* const copy = group.places[place][part.chunk].get();
      if (copy && place != except) copy->invalid.set(part.first, part.last);
    }
  });
}

void States::invalid(std::size_t place, Span span, std::vector<Span>& runs) {
  each_copy(place, span, [&](const Copy& copy, const Part& part) {
    append_runs(copy.invalid, part.first, part.last, part.begin, runs);
  });
}

std::size_t States::take(std::size_t place, Span span) {
  std::size_t pages = 0;
  each_copy(place, span, [&](Copy& copy, const Part& part) {
    PageBitmap taken{};
    taken.set(part.first, part.last);
    taken.clear(copy.newest);
    PageBitmap lost = taken;
    lost.keep(copy.current);
    pages += lost.count(part.first, part.last);
    copy.current.clear(taken);
    copy.invalid.clear(taken);
  });
  return pages;
}

bool States::where(std::size_t place, Span span, std::vector<PagesOnDevice>& runs) {
  const std::size_t page = platform::page_size();
  std::size_t bytes = 0;
  each_copy(place, span, [&](const Copy& copy, const Part& part) {
    const Span pages{part.begin + part.first * page, part.begin + part.last * page};
    runs.push_back({pages, copy.address + part.first * page, place});
    bytes += pages.bytes();
  });
  return bytes == span.bytes();
}

void States::at_home(std::size_t place, Span span, std::vector<Span>& home, std::vector<Span>& lacking) {
  each_part(span, [&](Group& group, const Part& part) {
    PageBitmap here{};
    here.set(part.first, part.last);
    for (const Copies& copies : group.places)
      if (const Copy* const copy = copies[part.chunk].get()) here.clear(copy->newest);
    append_runs(here, part.first, part.last, part.begin, home);
    if (const Copy* const copy = place < group.places.size() ? group.places[place][part.chunk].get() : nullptr) {
      PageBitmap whole = copy->current;
      whole.clear(copy->partial);
      whole.clear(copy->invalid);
      here.clear(whole);
    }
    append_runs(here, part.first, part.last, part.begin, lacking);
  });
}

bool States::any_lent(Span span) {
  bool lent = false;
  each_part(span, [&](Group& group, const Part& part) {
    for (const Copies& copies : group.places)
      if (const Copy* const copy = copies[part.chunk].get()) lent = lent || copy->lent > 0;
  });
  return lent;
}

bool States::leave(std::size_t place, Span span) {
  if (any_lent(span)) return false;
  std::size_t left = 0;
  each_part(span, [&](Group& group, const Part& part) {
    for (std::size_t other = 0; other < group.places.size(); ++other) {
      Copy* const copy = group.places[other][part.chunk].get();
      if (!copy) continue;
      left -= copy->newest.count(part.first, part.last);
      change_newest(*copy, part, [&] {
        if (other == place)
          copy->newest.set(part.first, part.last);
        else
          copy->newest.clear(part.first, part.last);
      });
      if (other != place) {
        copy->invalid.set(part.first, part.last);
        continue;
      }
      copy->current.set(part.first, part.last);
      copy->partial.clear(part.first, part.last);
      copy->invalid.clear(part.first, part.last);
      left += part.last - part.first;
    }
  });
  newest_ += left;
  return true;
}

void States::newest(Span span, Loan& loan) {
  if (newest_ == 0) return;
  std::vector<Span> found;
  each_part(span, [&](Group& group, const Part& part) {
    for (std::size_t place = 0; place < group.places.size(); ++place) {
      Copy* const copy = group.places[place][part.chunk].get();
      if (!copy || !copy->newest.any(part.first, part.last)) continue;
      found.clear();
      append_runs(copy->newest, part.first, part.last, part.begin, found);
      loan.copies_.push_back(copy);
      ++copy->lent;
      for (const Span run : found) loan.add({run, copy->address + (run.begin - part.begin), place});
    }
  });
}

std::size_t States::newest_bytes(Span span) {
  if (newest_ == 0) return 0;
  std::size_t pages = 0;
  each_part(span, [&](Group& group, const Part& part) {
    for (const Copies& copies : group.places)
      if (const Copy* const copy = copies[part.chunk].get()) pages += copy->newest.count(part.first, part.last);
  });
  return pages * platform::page_size();
}

bool States::all_newest(std::size_t place, Span span) {
  if (newest_ == 0) return false;
  std::size_t pages = 0;
  each_copy(place, span, [&](const Copy& copy, const Part& part) {
    if (copy.lent == 0) pages += copy.newest.count(part.first, part.last);
  });
  return pages == span.bytes() / platform::page_size();
}

void States::newest_at(std::size_t place, Span span, std::vector<Span>& runs) {
  if (newest_ == 0) return;
  each_copy(place, span, [&](const Copy& copy, const Part& part) {
    if (copy.lent == 0) append_runs(copy.newest, part.first, part.last, part.begin, runs);
  });
}

void States::home(Span span) {
  if (newest_ == 0) return;
  std::size_t pages = 0;
  each_part(span, [&](Group& group, const Part& part) {
    for (const Copies& copies : group.places)
      if (Copy* const copy = copies[part.chunk].get()) {
        pages += copy->newest.count(part.first, part.last);
        change_newest(*copy, part, [&] { copy->newest.clear(part.first, part.last); });
      }
  });
  newest_ -= pages;
}

void States::gone(Span span) {
  home(span);
  invalidate(span);
}

// A copy may be closed meanwhile.
void States::await_arrival(std::size_t place, Span span, std::chrono::steady_clock::time_point until) {
  for (std::uintptr_t number = span.begin / group_bytes; number * group_bytes < span.end; ++number) {
    Stripe& stripe = stripe_of(number);
    std::unique_lock lock(stripe.mutex);
    stripe.arrived.wait_until(lock, until, [&] {
      const auto found = stripe.groups.find(number);
      bool arriving = false;
      if (found != stripe.groups.end() && place < found->second.places.size())
        each_part_of(number, span, [&](const Part& part) {
          const Copy* const copy = found->second.places[place][part.chunk].get();
          arriving = arriving || (copy && copy->arriving.any(part.first, part.last));
        });
      return !arriving;
    });
  }
}

void States::end_steady(std::size_t place, Span span) {
  each_copy(place, span, [](Copy& copy, const Part& part) { copy.steady.clear(part.first, part.last); });
}

void States::who_has(Span span, std::span<const std::size_t> holders, const Covers& covers, Loan& loan) {
  const std::size_t size = platform::page_size();
  std::vector<Span> found;
  each_part(span, [&](Group& group, const Part& part) {
    PageBitmap left{};
    left.set(part.first, part.last);
    for (const std::size_t place : holders) {
      Copy* const copy = place < group.places.size() ? group.places[place][part.chunk].get() : nullptr;
      if (!copy) continue;
      PageBitmap there = left;
      there.keep(copy->current);
      there.clear(copy->invalid);
      if (!covers) {
        there = {};
      } else if (there.any(copy->partial)) {
        PageBitmap partial = there;
        partial.keep(copy->partial);
        partial.each([&](std::size_t number) {
          const std::uintptr_t at = part.begin + number * size;
          if (!covers(*copy, {at, at + size})) there.clear(number, number + 1);
        });
      }
      PageBitmap steady = left;
      steady.keep(copy->steady);
      there.set(steady);
      there.clear(copy->arriving);
      found.clear();
      append_runs(there, part.first, part.last, part.begin, found);
      if (found.empty()) continue;
      loan.copies_.push_back(copy);
      ++copy->lent;
      for (const Span run : found) loan.add({run, copy->address + (run.begin - part.begin), place});
      left.clear(there);
    }
  });
}

}  // namespace blastoff::ledger
