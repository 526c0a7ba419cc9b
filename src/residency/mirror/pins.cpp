#include "residency/mirror/pins.h"

#include <algorithm>
#include <chrono>

#include "platform/contained.h"
#include "tracking/process_status.h"

namespace blastoff::residency::mirror {

using platform::Span;

namespace {

constexpr Span everything = {0, UINTPTR_MAX};

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

bool Pins::held_within(Span span) {
  for (auto pin = first_reaching(span.begin); pin != pins_.end() && pin->first < span.end; ++pin)
    if (pin->second.holds > 0) return true;
  return false;
}

std::size_t Pins::bytes_touching(Span span) {
  std::size_t bytes = 0;
  for (auto pin = first_reaching(span.begin); pin != pins_.end() && pin->first < span.end; ++pin)
    bytes += pin->second.span.bytes();
  return bytes;
}

/// Returns the kilobytes that this has added to VmPin; nullopt if the driver refuses.
std::optional<std::size_t> Pins::lock_pages(device::Device& device, Span span) {
  const auto lock = [&] { return device.pin(reinterpret_cast<void*>(span.begin), span.bytes()).has_value(); };
  if (never_counted_) return lock() ? std::optional<std::size_t>(0) : std::nullopt;
  const std::lock_guard turn(making_mutex_);
  const std::size_t before = tracking::pinned_kilobytes();
  if (!lock()) return std::nullopt;
  const std::size_t after = tracking::pinned_kilobytes();
  never_counted_ = after == before;
  return own_growth(before, after, span);
}

// Registrations must not overlap. Pins that the new one would touch are ended, and the new one covers their memory,
// too. The driver takes long. Meanwhile the pin is there, so that nobody else has the memory locked, or takes it for
// the program's own registration.
Pins::Pin* Pins::create(device::Device& device, Span span, std::unique_lock<std::mutex>& lock,
                        std::unique_lock<std::mutex>& callers, const Absent& absent) {
  if (held_within(span)) return nullptr;
  if (making_ > 0 && (bytes_touching(span) > 0 || pinned_ + span.bytes() > limit_)) return nullptr;
  for (auto pin = first_reaching(span.begin); pin != pins_.end() && pin->first < span.end; pin = end(pin))
    if (!pin->second.gone)
      span = {std::min(span.begin, pin->second.span.begin), std::max(span.end, pin->second.span.end)};
  for (auto pin = pins_.begin(); pin != pins_.end() && pinned_ + span.bytes() > limit_;)
    pin = pin->second.holds == 0 ? end(pin) : std::next(pin);
  if (pinned_ + span.bytes() > limit_ || excepted_(span) || absent(span)) return nullptr;
  Pin& pin = pins_[span.begin];
  pin.span = span;
  pin.holds = 1;
  pin.uses = 1;
  pin.owner = &device;
  if (!platform::contained([&] { pin.known_to.push_back(&device); })) {
    pins_.erase(span.begin);
    return nullptr;
  }
  pinned_ += span.bytes();
  ++making_;
  lock.unlock();
  if (callers) callers.unlock();
  const auto counted = lock_pages(device, span);
  lock.lock();
  --making_;
  pin.made = true;
  pin.counted = counted.value_or(0);
  counted_ += pin.counted;
  if (!counted) {
    pinned_ -= span.bytes();
    pins_.erase(span.begin);
  }
  if (making_ == 0) {
    end_gone(everything);
    made_.notify_all();
  }
  return counted ? &pin : nullptr;
}

void Pins::unhold(Pin* pin) {
  const std::lock_guard lock(mutex_);
  if (--pin->holds > 0 || !pin->gone) return;
  end_gone(pin->span);
}

/// Ends the pins in the span that are gone and that no call holds. While others are being made, they wait for that.
void Pins::end_gone(Span span) {
  if (making_ > 0) return;
  for (auto pin = first_reaching(span.begin); pin != pins_.end() && pin->first < span.end;)
    pin = pin->second.gone && pin->second.holds == 0 ? end(pin) : std::next(pin);
  ended_.notify_all();
}

Pins::Map::iterator Pins::end(Map::iterator pin) {
  const Pin& ended = pin->second;
  ended.owner->unpin(reinterpret_cast<void*>(ended.span.begin), ended.span.bytes());
  pinned_ -= ended.span.bytes();
  counted_ -= ended.counted;
  return pins_.erase(pin);
}

void Pins::forget(Span span) {
  const std::lock_guard lock(mutex_);
  if (!platform::contained([&] { extents_.remove(span); })) extents_.clear();
  requested_.erase_within(span.begin, span.end);
  for (auto pin = first_reaching(span.begin); pin != pins_.end() && pin->first < span.end; ++pin)
    pin->second.gone = true;
  end_gone(span);
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
  if (ended_.wait_for(lock, longest_call, [this] { return pins_.empty(); })) return true;
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
  for (auto& [begin, pin] : pins_) pin.gone = true;
  end_gone(everything);
}

void Pins::release_of(device::Device& device) {
  std::unique_lock lock(mutex_);
  made_.wait(lock, [this] { return making_ == 0; });
  for (auto pin = pins_.begin(); pin != pins_.end();) pin = pin->second.owner == &device ? end(pin) : std::next(pin);
}

bool Pins::empty() {
  const std::lock_guard lock(mutex_);
  return pins_.empty();
}

bool Pins::covered(Span span) {
  const auto pin = first_reaching(span.begin);
  return pin != pins_.end() && !pin->second.gone && pin->second.span.contains(span);
}

bool Pins::touching(Span span) {
  const auto pin = first_reaching(span.begin);
  return pin != pins_.end() && pin->first < span.end;
}

bool Pins::touches(Span span) {
  const std::lock_guard lock(mutex_);
  return touching(span);
}

void Pins::except(std::function<bool(Span)> excepted) {
  const std::lock_guard lock(mutex_);
  excepted_ = std::move(excepted);
}

void Pins::end_excepted(Span span) {
  forget(span);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return !touching(span); });
}

// Under the lock: another device may be about to lock the memory.
bool Pins::registered_by_program(device::Device& device, Span span) {
  const std::lock_guard lock(mutex_);
  return !covered(span) && device.registered_by_program(reinterpret_cast<const void*>(span.begin));
}

bool Pins::others_pin() {
  if (tracking::pinned_kilobytes() == 0) return false;
  std::unique_lock lock(mutex_);
  while (tracking::pinned_kilobytes() > counted_) {
    if (making_ == 0) return true;
    made_.wait(lock, [this] { return making_ == 0; });
  }
  return false;
}

}  // namespace blastoff::residency::mirror
