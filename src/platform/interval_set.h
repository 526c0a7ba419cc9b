// A set of host addresses as disjoint spans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "platform/span.h"

namespace blastoff::platform {

/// If there is no memory for a change, the set stays as it was.
class IntervalSet {
 public:
  void add(Span span) {
    if (span.empty()) return;
    auto first = spans_.upper_bound(span.begin);
    if (first != spans_.begin() && std::prev(first)->second >= span.begin) --first;
    if (first == spans_.end() || first->first > span.end) {
      spans_.emplace(span.begin, span.end);
      return;
    }
    // The first span that it touches becomes the whole.
    span.begin = std::min(span.begin, first->first);
    auto next = first;
    for (; next != spans_.end() && next->first <= span.end; ++next) span.end = std::max(span.end, next->second);
    spans_.erase(std::next(first), next);
    first->second = span.end;
    move_begin(first, span.begin);
  }

  void remove(Span span) {
    if (span.empty()) return;
    auto next = spans_.upper_bound(span.begin);
    if (next != spans_.begin()) --next;
    while (next != spans_.end() && next->first < span.end) {
      const Span old{next->first, next->second};
      const auto at = next++;
      if (!old.overlaps(span)) continue;
      if (old.begin < span.begin && span.end < old.end) spans_.emplace(span.end, old.end);
      if (old.begin < span.begin)
        at->second = span.begin;
      else if (span.end < old.end)
        move_begin(at, span.end);
      else
        spans_.erase(at);
    }
  }

  bool contains(Span span) const {
    auto next = spans_.upper_bound(span.begin);
    return next != spans_.begin() && std::prev(next)->second >= span.end;
  }

  /// The span of the set that contains all of `span`; the set must contain it.
  Span around(Span span) const {
    const auto found = std::prev(spans_.upper_bound(span.begin));
    return {found->first, found->second};
  }

  bool overlaps(Span span) const {
    const auto next = spans_.lower_bound(span.end);  // the first span that begins behind `span`
    return !span.empty() && next != spans_.begin() && std::prev(next)->second > span.begin;
  }

  /// Calls visit(Span) for the parts of `span` that do not belong to the set, ascending.
  template <class Visit>
  void each_gap(Span span, Visit&& visit) const {
    auto next = spans_.upper_bound(span.begin);
    if (next != spans_.begin()) span.begin = std::max(span.begin, std::prev(next)->second);
    for (; !span.empty(); ++next) {
      const Span gap{span.begin, next == spans_.end() ? span.end : std::min(span.end, next->first)};
      if (!gap.empty()) visit(gap);
      if (next == spans_.end()) return;
      span.begin = next->second;
    }
  }

  /// Calls visit(Span) for the parts of `span` that belong to the set, ascending.
  template <class Visit>
  void each_common(Span span, Visit&& visit) const {
    if (span.empty()) return;
    auto next = spans_.upper_bound(span.begin);
    if (next != spans_.begin()) --next;
    for (; next != spans_.end() && next->first < span.end; ++next) {
      const Span common{std::max(span.begin, next->first), std::min(span.end, next->second)};
      if (!common.empty()) visit(common);
    }
  }

  bool empty() const { return spans_.empty(); }
  std::size_t size() const { return spans_.size(); }

  /// Calls visit(Span) for the spans, ascending, until one call returns false. Returns whether all returned true.
  template <class Visit>
  bool all_of(Visit&& visit) const {
    return std::all_of(spans_.begin(), spans_.end(), [&](const auto& span) {
      return visit(Span{span.first, span.second});
    });
  }

  void clear() { spans_.clear(); }

 private:
  using Spans = std::map<std::uintptr_t, std::uintptr_t>;  // begin -> end

  void move_begin(Spans::iterator span, std::uintptr_t begin) {
    if (span->first == begin) return;
    auto node = spans_.extract(span);
    node.key() = begin;
    spans_.insert(std::move(node));
  }

  Spans spans_;
};

}  // namespace blastoff::platform
