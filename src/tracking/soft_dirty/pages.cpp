#include "tracking/soft_dirty/pages.h"

namespace blastoff::tracking {

void SoftDirtyPages::track(Span span) {
  for (auto at = start_of_chunk(span.begin); at < span.end; at += chunk_bytes()) chunks_[at];
  each_chunk(span, [](Chunk& chunk, std::uintptr_t, std::size_t first, std::size_t last) {
    Bits fresh;
    fresh.add(first, last);
    chunk.tracked.each(first, last, [&](std::size_t page) { fresh.put(page, false); });
    chunk.pending.add(first, last, fresh);
    chunk.tracked.add(first, last);
    return true;
  });
}

void SoftDirtyPages::untrack(Span span) {
  each_chunk(span, [](Chunk& chunk, std::uintptr_t, std::size_t first, std::size_t last) {
    for (Bits* bits : {&chunk.tracked, &chunk.pending, &chunk.moving}) bits->remove(first, last);
    return true;
  });
  std::erase_if(chunks_, [](const auto& entry) { return !entry.second.tracked.any(); });
}

bool SoftDirtyPages::tracked(Span span) const {
  std::uintptr_t next = span.begin;
  auto& self = const_cast<SoftDirtyPages&>(*this);
  self.each_chunk(span, [&](const Chunk& chunk, std::uintptr_t address, std::size_t first, std::size_t last) {
    if (address + first * platform::page_size() != next || !chunk.tracked.all(first, last)) return false;
    next = address + last * platform::page_size();
    return true;
  });
  return next >= span.end;
}

void SoftDirtyPages::add_pending(Span span) {
  each_chunk(span, [](Chunk& chunk, std::uintptr_t, std::size_t first, std::size_t last) {
    chunk.pending.add(first, last, chunk.tracked);
    return true;
  });
}

void SoftDirtyPages::all_pending() {
  for (auto& [address, chunk] : chunks_) chunk.pending = chunk.tracked;
}

void SoftDirtyPages::append_pending(Span span, std::vector<Span>& runs) const {
  const std::size_t before = runs.size();
  auto& self = const_cast<SoftDirtyPages&>(*this);
  self.each_chunk(span, [&](const Chunk& chunk, std::uintptr_t address, std::size_t first, std::size_t last) {
    chunk.pending.each(first, last, [&](std::size_t page) {
      const std::uintptr_t begin = address + page * platform::page_size();
      if (runs.size() > before && runs.back().end == begin)
        runs.back().end += platform::page_size();
      else
        runs.push_back({begin, begin + platform::page_size()});
    });
    return true;
  });
}

void SoftDirtyPages::settle(Span span) {
  each_chunk(span, [](Chunk& chunk, std::uintptr_t, std::size_t first, std::size_t last) {
    chunk.pending.remove(first, last, chunk.moving);
    return true;
  });
}

}  // namespace blastoff::tracking
