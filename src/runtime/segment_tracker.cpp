#include "runtime/segment_tracker.h"

#include <algorithm>

#include "platform/contained.h"
#include "residency/footprint.h"

namespace blastoff::runtime {
namespace {

std::mutex all_mutex;

std::vector<SegmentTracker*>& all() {
  static auto& trackers = *new std::vector<SegmentTracker*>;
  return trackers;
}

}  // namespace

SegmentTracker::SegmentTracker() {
  const std::lock_guard lock(all_mutex);
  all().push_back(this);
}

SegmentTracker::~SegmentTracker() {
  const std::lock_guard lock(all_mutex);
  std::erase(all(), this);
}

void SegmentTracker::tell_all_but(const SegmentTracker* writer, Span memory) {
  const std::lock_guard lock(all_mutex);
  for (SegmentTracker* const tracker : all())
    if (tracker != writer) tracker->add_changed(platform::outward_to_pages(memory));
}

void SegmentTracker::changed(Span memory) {
  tell_all_but(nullptr, memory);
}

void SegmentTracker::results_changed(const operation::Operation& operation, const SegmentTracker* writer) {
  for (const operation::Operand& operand : operation.operands())
    if (!operand.empty() && operation::writes(operand.intent)) tell_all_but(writer, residency::bounds(operand));
}

void SegmentTracker::ended(Span memory) {
  const std::lock_guard lock(all_mutex);
  for (SegmentTracker* const tracker : all()) tracker->add_ended(platform::outward_to_pages(memory));
}

void SegmentTracker::add_changed(Span memory) {
  const std::lock_guard lock(mutex_);
  const bool noted = platform::contained([&] { written_.add(memory); });
  lost_ = lost_ || !noted;
}

void SegmentTracker::add_ended(Span memory) {
  const std::lock_guard lock(mutex_);
  const bool noted = platform::contained([&] {
    tracked_.remove(memory);
    written_.remove(memory);
    events_.push_back({.kind = tracking::MemoryEvent::Kind::unmapped, .span = memory});
  });
  lost_ = lost_ || !noted;
  news_.notify_all();
}

tl::expected<void, std::string> SegmentTracker::track(Span span) {
  const std::lock_guard lock(mutex_);
  tracked_.each_gap(span, [&](Span gap) { written_.add(gap); });
  tracked_.add(span);
  return {};
}

void SegmentTracker::untrack(Span span) {
  const std::lock_guard lock(mutex_);
  tracked_.remove(span);
}

SegmentTracker::Scan SegmentTracker::scan(Span span, bool protect, std::vector<Span>& written) {
  const std::lock_guard lock(mutex_);
  if (lost_ || !tracked_.contains(span)) return Scan::not_tracked;
  written_.each_common(span, [&](Span common) { written.push_back(common); });
  if (protect) written_.remove(span);
  return Scan::ok;
}

void SegmentTracker::unprotect(Span span) {
  add_changed(span);
}

bool SegmentTracker::drain(std::vector<tracking::MemoryEvent>& events) {
  const std::lock_guard lock(mutex_);
  events.insert(events.end(), events_.begin(), events_.end());
  events_.clear();
  if (!lost_) return true;
  tracked_.clear();
  written_.clear();
  lost_ = false;
  return false;
}

bool SegmentTracker::wait_for_events() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return !events_.empty() || lost_ || stopped_; });
  return !stopped_;
}

void SegmentTracker::stop_waiting() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  news_.notify_all();
}

}  // namespace blastoff::runtime
