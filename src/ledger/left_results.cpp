#include "ledger/left_results.h"

#include <algorithm>

#include <fmt/format.h>

#include "platform/interval_set.h"
#include "platform/quantity.h"

namespace blastoff::ledger {

// A result that stays again and again takes one place.
void LeftResults::note(const LeftResult& result) {
  const std::lock_guard lock(mutex_);
  const auto known = std::min(noted_, capacity);
  for (std::size_t i = 0; i < known; ++i)
    if (results_[i].bounds == result.bounds) {
      results_[i] = result;
      return;
    }
  results_[noted_++ % capacity] = result;
}

Span LeftResults::part_for(Span page, Span window) const {
  const std::lock_guard lock(mutex_);
  const auto within = [&](std::uintptr_t address) { return page.begin < address && address < page.end; };
  for (std::size_t i = 0; i < std::min(noted_, capacity); ++i) {
    const Span bounds = results_[i].bounds;
    if (within(bounds.begin) || within(bounds.end)) return page;
    if (bounds.end <= page.begin) window.begin = std::max(window.begin, platform::outward_to_pages(bounds).end);
    if (bounds.begin >= page.end) window.end = std::min(window.end, platform::outward_to_pages(bounds).begin);
  }
  return window;
}

std::string LeftResults::names(const std::vector<Span>& runs) const {
  constexpr std::size_t max_names = 8;  // for one line
  platform::IntervalSet rest;
  for (const Span run : runs) rest.add(run);
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = noted_; i-- > (noted_ > capacity ? noted_ - capacity : 0);) {
      const LeftResult& result = results_[i % capacity];
      std::size_t bytes = 0;
      rest.each_common(result.bounds, [&](Span common) { bytes += common.bytes(); });
      if (bytes == 0) continue;
      rest.remove(result.bounds);
      names.push_back(fmt::format("{} x {} of {} at {:#x} ({})", result.rows, result.columns, result.routine,
                                  result.bounds.begin, platform::format_bytes(bytes)));
    }
  }
  rest.all_of([&](Span run) {
    names.push_back(fmt::format("{} at {:#x}", platform::format_bytes(run.bytes()), run.begin));
    return true;
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), max_names); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > max_names) text += fmt::format(", and {} more", names.size() - max_names);
  return text;
}

}  // namespace blastoff::ledger
