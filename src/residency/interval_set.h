// A set of host addresses as disjoint spans.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "platform/span.h"

namespace blastoff::residency {

class IntervalSet {
 public:
  void add(platform::Span span) {
    if (span.empty()) return;
    auto next = spans_.upper_bound(span.begin);
    if (next != spans_.begin() && std::prev(next)->second >= span.begin) --next;
    while (next != spans_.end() && next->first <= span.end) {
      span = {std::min(span.begin, next->first), std::max(span.end, next->second)};
      next = spans_.erase(next);
    }
    spans_.emplace(span.begin, span.end);
  }

  void remove(platform::Span span) {
    if (span.empty()) return;
    auto next = spans_.upper_bound(span.begin);
    if (next != spans_.begin()) --next;
    while (next != spans_.end() && next->first < span.end) {
      const platform::Span old{next->first, next->second};
      if (!old.overlaps(span)) {
        ++next;
        continue;
      }
      next = spans_.erase(next);
      if (old.begin < span.begin) spans_.emplace(old.begin, span.begin);
      if (span.end < old.end) next = std::next(spans_.emplace(span.end, old.end).first);
    }
  }

  bool contains(platform::Span span) const {
    auto next = spans_.upper_bound(span.begin);
    return next != spans_.begin() && std::prev(next)->second >= span.end;
  }

  /// The span of the set that contains all of `span`; it has to be there.
  platform::Span around(platform::Span span) const {
    const auto found = std::prev(spans_.upper_bound(span.begin));
    return {found->first, found->second};
  }

  bool overlaps(platform::Span span) const {
    const auto next = spans_.lower_bound(span.end);  // the first that begins behind it
    return !span.empty() && next != spans_.begin() && std::prev(next)->second > span.begin;
  }

  /// Calls visit(Span) for the parts of `span` that do not belong to the set, ascending.
  template <class Visit>
  void each_gap(platform::Span span, Visit&& visit) const {
    auto next = spans_.upper_bound(span.begin);
    if (next != spans_.begin()) span.begin = std::max(span.begin, std::prev(next)->second);
    for (; !span.empty(); ++next) {
      const platform::Span gap{span.begin, next == spans_.end() ? span.end : std::min(span.end, next->first)};
      if (!gap.empty()) visit(gap);
      if (next == spans_.end()) return;
      span.begin = next->second;
    }
  }

  bool empty() const { return spans_.empty(); }

  /// Calls visit(Span) for the spans, ascending, until one returns false. False: one did.
  template <class Visit>
  bool all_of(Visit&& visit) const {
    return std::all_of(spans_.begin(), spans_.end(), [&](const auto& span) {
      return visit(platform::Span{span.first, span.second});
    });
  }

  void clear() { spans_.clear(); }

 private:
  std::map<std::uintptr_t, std::uintptr_t> spans_;  // begin -> end
};

}  // namespace blastoff::residency
