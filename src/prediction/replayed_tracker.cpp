#include "prediction/replayed_tracker.h"

#include <algorithm>
#include <iterator>
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

// Does not wait for events, since the next call drains them; waits for the end.
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
  constexpr std::uint64_t max_samples = 64;
  constexpr std::uint64_t pages_for_a_sample = 8;
  if (operand.empty()) return 0;
  const std::lock_guard lock(mutex_);
  const auto elements = static_cast<std::uint64_t>(operand.rows) * static_cast<std::uint64_t>(operand.columns);
  const std::uint64_t pages = elements * operand.element_size / platform::page_size();
  const std::uint64_t samples = std::clamp<std::uint64_t>(pages / pages_for_a_sample, 1, max_samples);
  std::uint64_t mixed = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t element = (2 * i + 1) * elements / (2 * samples);
    const std::uint64_t rows = static_cast<std::uint64_t>(operand.rows);
    const std::size_t offset = element / rows * operand.stride_bytes() + element % rows * operand.element_size;
    mixed = mixed * 0x9e3779b97f4a7c15U + version_at(residency::bounds(operand).begin + offset);
  }
  return mixed;
}

std::uint64_t ReplayedTracker::version_at(std::uintptr_t address) const {
  const auto next = versions_.upper_bound(address);
  if (next == versions_.begin()) return 0;
  const Version& version = std::prev(next)->second;
  return version.end > address ? version.write : 0;
}

}  // namespace blastoff::prediction
