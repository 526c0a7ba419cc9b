// Which operands of a call lie in page-locked memory, from its begin to its end.
#include <chrono>
#include <thread>
#include <utility>

#include "platform/contained.h"
#include "platform/memory_map.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

namespace {

using platform::Span;

// Where the kernel cannot be asked about single mappings, reading the list of all mappings takes as long as the CPU
// takes to copy a few megabytes.
constexpr std::size_t worth_reading_mappings = std::size_t{4} << 20;

// A matrix is not worth pinning as a whole if most of the memory between its first and last byte belongs to other data.
// Wide gaps are not watched: other memory may come to lie there unseen.
bool dense_enough_to_pin(const operation::Operand& operand) {
  return !has_wide_gaps(operand) && operand.span_bytes() <= 4 * operand.payload_bytes();
}

}  // namespace

// Called before the pages are protected, because otherwise the pinning would look like a write by the program at their
// next use. That holds for each device that comes to use the pin. Results are pinned, what is copied at every use, and
// what comes back after it made room for others. While the driver locks memory, the lock is given back.
void Coherence::take_pins(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock) {
  if (!place_.tracker().allows_pinning()) return;
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (operand.empty() || acquisition.unwatched[i] || !dense_enough_to_pin(operand)) continue;
    if (acquisition.call.gaps_are_others && !operand.contiguous()) continue;
    const bool moves = operation::writes(operand.intent) ||
                       (operation::reads(operand.intent) &&
                        (!acquisition.tracked[i] || mirrors_.evicted(platform::outward_to_pages(bounds(operand)))));
    if (!moves) continue;
    const auto absent = [&](Span span) { return place_.any_left(span); };
    const bool stays = acquisition.stays[i] || acquisition.probes[i];
    if (stays) pins_->forget(bounds(operand));
    if (stays || absent(platform::outward_to_pages(bounds(operand)))) continue;
    bool met = false;
    acquisition.pins[i] = pins_->hold(device_, bounds(operand), met, lock, absent);
    if (met) place_.take(acquisition.pins[i]->span);
  }
}

// Whether the memory that is watched still lies at the operand's addresses.
bool Coherence::is_what_is_watched(const operation::Operand& operand) {
  std::vector<Span> written;
  bool intact = true;
  each_region(operand, [&](Span region) { intact = intact && place_.scan(region, false, written); });
  return intact;
}

// The device reads and writes the pinned pages, even if other memory lies at their addresses by now. Examining a
// tracked operand has found that out; for others this is done here. If the program may not write to a result now, the
// CPU must do the copy, so that it fails as it would without Blastoff. Asking the kernel takes long, so the lock is
// given back. The pins do not end meanwhile. What else has ended goes first: the driver copies vectors of the program.
void Coherence::drop_pins_not_to_be_used(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock) {
  const auto operands = acquisition.call.operands();
  give_back_ended(lock);
  for (const operation::HostVector& vector : acquisition.call.vectors()) pins_->await_unlocked(memory_of(vector));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (!acquisition.pins[i]) continue;
    const bool lost = !acquisition.tracked[i] && !is_what_is_watched(operand);
    const bool usable =
        !lost && !acquisition.pins[i]->gone &&
        (!operation::writes(operand.intent) ||
         platform::writable(bounds(operand), operand.payload_bytes() >= worth_reading_mappings).value_or(false));
    if (usable) continue;
    lock.lock();
    if (lost) lose(operand);
    release_pin(acquisition, i);
    give_back_ended(lock);
  }
}

PageAcquisition Coherence::lock_operands(const operation::Operation& call) {
  PageAcquisition acquisition;
  acquisition.call = call;
  if (dma_writer()) return acquisition;
  find_registered(acquisition);
  std::unique_lock lock(mutex_);
  apply_events();
  const bool complete = platform::contained([&] {
    const auto operands = call.operands();
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!operands[i].empty()) acquisition.unwatched[i] = acquisition.registered[i] || !watch(operands[i]);
    take_pins(acquisition, lock);
    drop_pins_not_to_be_used(acquisition, lock);
  });
  if (complete) return acquisition;
  if (!lock) lock.lock();
  release_pins_of(acquisition);
  give_back_ended(lock);
  return acquisition;
}

void Coherence::unlock_operands(PageAcquisition& acquisition) {
  std::unique_lock lock(mutex_);
  tell_other_devices(acquisition);
  settle(acquisition, false, {});
  release_pins_of(acquisition);
  changed_.notify_all();
  give_back_ended(lock);
}

void Coherence::release_pin(PageAcquisition& acquisition, std::size_t operand) {
  if (Pins::Pin* const pin = std::exchange(acquisition.pins[operand], nullptr)) pins_->unhold(pin);
}

void Coherence::release_pins_of(PageAcquisition& acquisition) {
  for (std::size_t i = 0; i < acquisition.pins.size(); ++i) release_pin(acquisition, i);
}

bool Coherence::release_pins() {
  constexpr int max_attempts = 2'000;
  for (int i = 0; i < max_attempts; ++i) {
    if (std::unique_lock lock(mutex_, std::try_to_lock); lock) {
      pins_->release();
      lock.unlock();
      pins_->unlock_ended();
      return pins_->empty();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return false;
}

}  // namespace blastoff::residency::mirror
