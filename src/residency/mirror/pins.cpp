#include "residency/mirror/pins.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "platform/contained.h"
#include "tracking/process_status.h"

namespace blastoff::residency::mirror {

using platform::Span;

namespace {

/// What a pin of `span` has added to VmPin, if anything; huge pages may be counted as a whole. A growth outside these
/// bounds is not ours.
std::size_t own_growth(std::size_t before, std::size_t after, Span span) {
  constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
  const std::size_t grown = after > before ? after - before : 0;
  const std::size_t most = (span.end + huge_page - 1) / huge_page * huge_page - span.begin / huge_page * huge_page;
  return grown >= span.bytes() / 1024 && grown <= most / 1024 ? grown : 0;
}

}  // namespace

Pins::Map::iterator Pins::first_reaching(std::uintptr_t address) {
  const auto next = pins_.upper_bound(address);
  return next != pins_.begin() && std::prev(next)->second.span.end > address ? std::prev(next) : next;
}

bool Pins::meet(Pin& pin, const device::Device& device) {
  if (std::ranges::find(pin.known_to, &device) != pin.known_to.end()) return false;
  pin.known_to.push_back(&device);
  return true;
}

Pins::Pin* Pins::hold(device::Device& device, Span span, bool& met, std::unique_lock<std::mutex>& callers,
                      const Absent& absent) {
  std::unique_lock lock(mutex_);
  met = false;
  if (!device.may_pin()) {
    release_all();
    return nullptr;
  }
  const Span pages = platform::outward_to_pages(span);
  if (forbidden_ > 0 || excepted_(pages)) return nullptr;
  if (const auto found = first_reaching(pages.begin);
      found != pins_.end() && !found->second.gone && found->second.span.contains(pages)) {
    if (!found->second.made) return nullptr;
    met = meet(found->second, device);
    ++found->second.holds;
    ++found->second.uses;
    return &found->second;
  }
  Request& before = requested_.use(pages.begin, [&](std::uintptr_t begin, const Request& request) {
    extents_.remove({begin, begin + request.bytes});
  });
  extents_.add(pages);
  if (before.bytes < pages.bytes()) before = {pages.bytes(), 0};
  if (before.times < patience_) {
    ++before.times;
    return nullptr;
  }
  // The memory of pins that a larger one takes the place of is locked once more. If the larger one has twice as much,
  // this adds up to no more than locking all of it once; else it waits until as much has been copied through staging.
  const Span extent = extents_.around(pages);
  const std::size_t again = bytes_touching(extent);
  const bool pays = extent.bytes() >= 2 * again || (extent.bytes() > again && refused_ >= again);
  Pin* pin = nullptr;
  if (pays && extent.bytes() <= limit_ / 2) {
    pin = create(device, extent, lock, callers, absent);
    if (again > 0) refused_ = 0;
  }
  if (pin == nullptr && bytes_touching(pages) <= pages.bytes()) pin = create(device, pages, lock, callers, absent);
  if (pin == nullptr) refused_ += pages.bytes();
  met = pin != nullptr;
  lock.unlock();
  if (!callers) callers.lock();
  return pin;
}

/// Whether a pin in the span is held, or being unlocked.
bool Pins::any_to_wait_for(Span span) {
  return std::ranges::any_of(touching(span),
                             [](const auto& each) { return each.second.holds > 0 || each.second.gone; });
}

std::size_t Pins::bytes_touching(Span span) {
  std::size_t bytes = 0;
  for (const auto& [begin, pin] : touching(span)) bytes += pin.span.bytes();
  return bytes;
}

std::unique_lock<std::mutex> Pins::take_turn() {
  return never_counted_ ? std::unique_lock<std::mutex>() : std::unique_lock(turn_mutex_);
}

/// In the caller's turn. Returns the kilobytes that this has added to VmPin; nullopt if the driver refuses.
std::optional<std::size_t> Pins::lock_pages(device::Device& device, Span span) {
  const std::size_t before = never_counted_ ? 0 : tracking::pinned_kilobytes();
  if (!device.pin(reinterpret_cast<void*>(span.begin), span.bytes())) return std::nullopt;
  if (never_counted_) return 0;
  const std::size_t after = tracking::pinned_kilobytes();
  never_counted_ = after == before;
  return own_growth(before, after, span);
}

void Pins::unlock_pages(const Pin& pin) {
  pin.owner->unpin(reinterpret_cast<void*>(pin.span.begin), pin.span.bytes());
}

// Registrations must not overlap. Pins that the new one would touch are ended, and the new one covers their memory,
// too. The driver takes long. Meanwhile the pin is there, so that nobody else has the memory locked, or takes it for
// the program's own registration.
Pins::Pin* Pins::create(device::Device& device, Span span, std::unique_lock<std::mutex>& lock,
                        std::unique_lock<std::mutex>& callers, const Absent& absent) {
  if (any_to_wait_for(span)) return nullptr;
  for (const auto& [begin, pin] : touching(span))
    span = {std::min(span.begin, pin.span.begin), std::max(span.end, pin.span.end)};
  std::size_t unlocked = bytes_touching(span);
  std::vector<Pin*> making_room;
  for (auto& [begin, pin] : pins_) {
    if (pinned_ - unlocked + span.bytes() <= limit_) break;
    if (pin.holds > 0 || pin.gone || pin.span.overlaps(span)) continue;
    making_room.push_back(&pin);
    unlocked += pin.span.bytes();
  }
  if (pinned_ - unlocked + span.bytes() > limit_ || excepted_(span) || absent(span)) return nullptr;
  Map made;
  Pin& pin = made[span.begin];
  pin.span = span;
  pin.holds = 1;
  pin.uses = 1;
  pin.owner = &device;
  pin.known_to.push_back(&device);
  Map replaced;
  for (auto next = first_reaching(span.begin); next != pins_.end() && next->first < span.end;)
    replaced.insert(pins_.extract(next++));
  pins_.insert(made.extract(made.begin()));
  ++changes_;
  for (const auto& [begin, old] : replaced) counted_ -= old.counted;
  for (Pin* const old : making_room) {
    old->gone = true;
    counted_ -= old->counted;
  }
  pinned_ += span.bytes();
  ++changing_;
  lock.unlock();
  if (callers) callers.unlock();
  std::optional<std::size_t> counted;
  {
    const auto turn = take_turn();
    for (const auto& [begin, old] : replaced) unlock_pages(old);
    for (const Pin* const old : making_room) unlock_pages(*old);
    counted = lock_pages(device, span);
  }
  lock.lock();
  --changing_;
  ++changes_;
  pin.made = true;
  pin.counted = counted.value_or(0);
  counted_ += pin.counted;
  pinned_ -= unlocked;
  for (const Pin* const old : making_room) pins_.erase(old->span.begin);
  if (!counted) {
    pinned_ -= span.bytes();
    pins_.erase(span.begin);
  }
  changed_.notify_all();
  unlock_ended(lock);
  return counted ? &pin : nullptr;
}

void Pins::unhold(Pin* pin) {
  const std::lock_guard lock(mutex_);
  if (--pin->holds == 0 && pin->gone) queue(*pin);
}

/// It ends now, or with its last hold.
void Pins::end(Pin& pin) {
  if (!pin.gone.exchange(true) && pin.holds == 0) queue(pin);
}

void Pins::queue(Pin& pin) {
  pin.next_ended = std::exchange(ended_, &pin);
}

void Pins::unlock_ended() {
  std::unique_lock lock(mutex_);
  unlock_ended(lock);
}

void Pins::await_unlocked(Span span) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::ranges::none_of(touching(span),
                                [](const auto& each) { return each.second.gone && each.second.holds == 0; });
  });
}

/// Where the driver's pins are counted, and another thread has its turn, that one does this afterwards.
void Pins::unlock_ended(std::unique_lock<std::mutex>& lock) {
  std::unique_lock turn(turn_mutex_, std::defer_lock);
  if (ended_ == nullptr || (!never_counted_ && !turn.try_lock())) return;
  while (ended_ != nullptr) {
    const Pin& pin = *std::exchange(ended_, ended_->next_ended);
    counted_ -= pin.counted;
    ++changing_;
    lock.unlock();
    unlock_pages(pin);
    lock.lock();
    --changing_;
    ++changes_;
    pinned_ -= pin.span.bytes();
    pins_.erase(pin.span.begin);
    changed_.notify_all();
  }
}

void Pins::forget(Span span) {
  const std::lock_guard lock(mutex_);
  if (!platform::contained([&] { extents_.remove(span); })) extents_.clear();
  requested_.erase_within(span.begin, span.end);
  for (auto& [begin, pin] : touching(span)) end(pin);
}

void Pins::release() {
  const std::lock_guard lock(mutex_);
  release_all();
}

// Pinning costs about two copies. What a use saves depends on the machine; here it counts as a quarter of a copy.
void Pins::learn() {
  constexpr int uses_that_pay = 8;
  constexpr int max_patience = 1024;
  int pins = 0;
  int uses = 0;
  for (const auto& [begin, pin] : pins_) {
    if (pin.gone) continue;
    ++pins;
    uses += pin.uses;
  }
  if (pins == 0) return;
  patience_ = uses >= pins * uses_that_pay ? std::max(patience_ / 2, 1) : std::min(patience_ * 2, max_patience);
}

bool Pins::forbid() {
  constexpr std::chrono::seconds longest_call{2};
  std::unique_lock lock(mutex_);
  learn();
  ++forbidden_;
  release_all();
  unlock_ended(lock);
  if (changed_.wait_for(lock, longest_call, [this] { return pins_.empty(); })) return true;
  --forbidden_;
  return false;
}

void Pins::allow() {
  const std::lock_guard lock(mutex_);
  --forbidden_;
}

void Pins::release_all() {
  requested_.clear();
  extents_.clear();
  for (auto& [begin, pin] : pins_) end(pin);
}

void Pins::release_of(device::Device& device) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return changing_ == 0; });
  for (auto& [begin, pin] : pins_) {
    if (pin.owner != &device) continue;
    const bool held = std::exchange(pin.holds, 0) > 0;
    if (!pin.gone.exchange(true) || held) queue(pin);
  }
  unlock_ended(lock);
  changed_.wait(lock, [&] {
    return std::ranges::none_of(pins_, [&](const auto& each) { return each.second.owner == &device; });
  });
}

bool Pins::empty() {
  const std::lock_guard lock(mutex_);
  return pins_.empty();
}

/// Whether the driver has locked the span for us, or is at it.
bool Pins::covered(Span span) {
  const auto pin = first_reaching(span.begin);
  return pin != pins_.end() && pin->second.span.contains(span);
}

bool Pins::touches(Span span) {
  const std::lock_guard lock(mutex_);
  return !touching(span).empty();
}

void Pins::except(std::function<bool(Span)> excepted) {
  const std::lock_guard lock(mutex_);
  excepted_ = std::move(excepted);
}

void Pins::end_excepted(Span span) {
  forget(span);
  unlock_ended();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return touching(span).empty(); });
}

// What the driver says may be of a pin that has begun or ended meanwhile. Then it is asked again.
bool Pins::registered_by_program(device::Device& device, Span span) {
  std::unique_lock lock(mutex_);
  while (!covered(span)) {
    const std::size_t before = changes_;
    lock.unlock();
    if (!device.registered_by_program(reinterpret_cast<const void*>(span.begin))) return false;
    lock.lock();
    if (before == changes_) return true;
  }
  return false;
}

bool Pins::others_pin() {
  if (tracking::pinned_kilobytes() == 0) return false;
  std::unique_lock lock(mutex_);
  while (tracking::pinned_kilobytes() > counted_) {
    if (changing_ == 0) return true;
    changed_.wait(lock, [this] { return changing_ == 0; });
  }
  return false;
}

}  // namespace blastoff::residency::mirror
