#include "prediction/replayed_tracker.h"

#include <algorithm>
#include <utility>

#include "residency/footprint.h"

namespace blastoff::prediction {

using platform::Span;
using tracking::MemoryEvent;

tl::expected<void, std::string> ReplayedTracker::track(Span span) {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, rest] : refused_)
    if (span.overlaps({begin, rest.first})) return tl::unexpected(rest.second);
  tracked_.add(span);
  return {};
}

void ReplayedTracker::untrack(Span span) {
  const std::lock_guard lock(mutex_);
  tracked_.remove(span);
  protected_.remove(span);
}

tracking::PageTracker::Scan ReplayedTracker::scan(Span span, bool protect, std::vector<Span>& written) {
  const std::lock_guard lock(mutex_);
  if (!tracked_.contains(span)) return Scan::not_tracked;
  protected_.each_gap(span, [&](Span gap) { written.push_back(gap); });
  if (protect) protected_.add(span);
  return Scan::ok;
}

void ReplayedTracker::unprotect(Span span) {
  const std::lock_guard lock(mutex_);
  protected_.remove(span);
}

bool ReplayedTracker::drain(std::vector<MemoryEvent>& events) {
  const std::lock_guard lock(mutex_);
  events.insert(events.end(), events_.begin(), events_.end());
  events_.clear();
  return true;
}

// Events are drained by the next call.
bool ReplayedTracker::wait_for_events() {
  std::unique_lock lock(mutex_);
  stopped_waiting_.wait(lock, [this] { return stopped_; });
  return false;
}

void ReplayedTracker::stop_waiting() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  stopped_waiting_.notify_all();
}

void ReplayedTracker::set_version(Span span) {
  auto next = versions_.upper_bound(span.begin);
  if (next != versions_.begin()) --next;
  while (next != versions_.end() && next->first < span.end) {
    const Span old{next->first, next->second.end};
    const std::uint64_t write = next->second.write;
    if (!old.overlaps(span)) {
      ++next;
      continue;
    }
    next = versions_.erase(next);
    if (old.begin < span.begin) versions_[old.begin] = {span.begin, write};
    if (span.end < old.end) versions_[span.end] = {old.end, write};
  }
  versions_[span.begin] = {span.end, ++writes_};
}

void ReplayedTracker::replay_write(Span span) {
  if (span.empty()) return;
  const std::lock_guard lock(mutex_);
  protected_.remove(span);
  new_.remove(span);
  set_version(span);
}

void ReplayedTracker::replay_presence(Span span) {
  const std::lock_guard lock(mutex_);
  new_.remove(span);
}

std::size_t ReplayedTracker::new_bytes(Span span) const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = span.bytes();
  new_.each_gap(span, [&](Span gap) { bytes -= gap.bytes(); });
  return bytes;
}

void ReplayedTracker::lose(Span span) {
  if (span.empty()) return;
  const std::lock_guard lock(mutex_);
  tracked_.remove(span);
  protected_.remove(span);
  new_.add(span);
  set_version(span);
  events_.push_back({MemoryEvent::Kind::unmapped, span, 0});
}

void ReplayedTracker::refuse(Span span, const std::string& why) {
  const std::lock_guard lock(mutex_);
  refused_[span.begin] = {span.end, why};
}

std::uint64_t ReplayedTracker::fingerprint(const operation::Operand& operand) const {
  const std::lock_guard lock(mutex_);
  const Span whole = residency::bounds(operand);
  std::uint64_t latest = 0;
  auto next = versions_.upper_bound(whole.begin);
  if (next != versions_.begin()) --next;
  for (; next != versions_.end() && next->first < whole.end; ++next)
    if (next->second.end > whole.begin) latest = std::max(latest, next->second.write);
  return latest;
}

}  // namespace blastoff::prediction
