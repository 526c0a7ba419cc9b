#include "runtime/gathered_locks.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "platform/memory_limits.h"
#include "residency/footprint.h"
#include "runtime/segment_tracker.h"

namespace blastoff::runtime {

residency::mirror::Pins& pins_of_segments() {
  constexpr std::size_t share = 8;  // of the machine's memory, at most
  static auto& pins = *new residency::mirror::Pins(platform::usable_memory() / share);
  return pins;
}

namespace {

std::mutex segments_mutex;  // held while memory is locked ahead: it must not end meanwhile

std::vector<platform::Span>& segments() {
  static auto& all = *new std::vector<platform::Span>;
  return all;
}

}  // namespace

void begin_segment(platform::Span memory) {
  const std::lock_guard lock(segments_mutex);
  segments().push_back(memory);
}

void end_segment(platform::Span memory) {
  const std::lock_guard lock(segments_mutex);
  std::erase(segments(), memory);
  pins_of_segments().forget(memory);
  pins_of_segments().unlock_ended();
  SegmentTracker::ended(memory);
}

void lock_ahead(device::Device& device, platform::Span memory) {
  const std::lock_guard no_end(segments_mutex);
  if (std::ranges::none_of(segments(), [&](platform::Span each) { return each.contains(memory); })) return;
  std::mutex nothing_to_guard;
  std::unique_lock lock(nothing_to_guard);
  bool met = false;
  constexpr int requests = 2;  // the second one locks
  for (int i = 0; i < requests; ++i)
    if (residency::mirror::Pins::Pin* const pin = pins_of_segments().hold(device, memory, met, lock))
      pins_of_segments().unhold(pin);
}

GatheredLocks::GatheredLocks(device::Device& device, const operation::Operation& operation, platform::Span memory) {
  std::mutex nothing_to_guard;
  std::unique_lock lock(nothing_to_guard);
  const auto operands = operation.operands();
  bool met = false;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].empty() && memory.contains(residency::bounds(operands[i])))
      held_[i] = pins_of_segments().hold(device, residency::bounds(operands[i]), met, lock);
}

GatheredLocks::~GatheredLocks() {
  for (residency::mirror::Pins::Pin* const pin : held_)
    if (pin != nullptr) pins_of_segments().unhold(pin);
  pins_of_segments().unlock_ended();
}

bool GatheredLocks::readable(platform::Span host) const {
  return std::ranges::any_of(held_, [&](const residency::mirror::Pins::Pin* pin) {
    return pin != nullptr && !pin->gone && pin->span.contains(host);
  });
}

}  // namespace blastoff::runtime
