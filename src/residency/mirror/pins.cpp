#include "residency/mirror/pins.h"

#include <algorithm>

#include "tracking/foreign_writer.h"

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

Pins::Pin* Pins::hold(Span span, bool& created) {
  created = false;
  if (!device_.may_pin()) {
    release();
    return nullptr;
  }
  const Span pages = platform::outward_to_pages(span);
  for (Pin& pin : pins_) {
    if (pin.gone || !pin.span.contains(pages)) continue;
    ++pin.holds;
    return &pin;
  }
  constexpr std::size_t most_remembered = 4096;
  if (requested_.size() > most_remembered) {
    requested_.clear();
    extents_.clear();
  }
  extents_.add(pages);
  std::size_t& before = requested_[pages.begin];
  if (before < pages.bytes()) {
    before = pages.bytes();
    return nullptr;
  }
  const Span extent = extents_.around(pages);
  Pin* pin = extent.bytes() <= limit_ / 2 ? create(extent) : nullptr;
  if (pin == nullptr && extent != pages) pin = create(pages);
  created = pin != nullptr;
  return pin;
}

// Registrations must not overlap. Pins that the new one would touch are ended, and the new one covers their memory,
// too.
Pins::Pin* Pins::create(Span span) {
  for (auto pin = pins_.begin(); pin != pins_.end();) {
    const auto next = std::next(pin);
    if (pin->span.overlaps(span)) {
      if (pin->holds > 0) return nullptr;
      if (!pin->gone) span = {std::min(span.begin, pin->span.begin), std::max(span.end, pin->span.end)};
      end(pin);
    }
    pin = next;
  }
  for (auto pin = pins_.begin(); pin != pins_.end() && pinned_ + span.bytes() > limit_;) {
    const auto next = std::next(pin);
    if (pin->holds == 0) end(pin);
    pin = next;
  }
  if (pinned_ + span.bytes() > limit_) return nullptr;
  const std::size_t before = tracking::pinned_kilobytes();
  if (!device_.pin(reinterpret_cast<void*>(span.begin), span.bytes())) return nullptr;
  pinned_ += span.bytes();
  Pin& pin = pins_.emplace_front();
  pin.counted = own_growth(before, tracking::pinned_kilobytes(), span);
  counted_ += pin.counted;
  pin.span = span;
  pin.holds = 1;
  return &pin;
}

void Pins::unhold(Pin* pin) {
  if (--pin->holds > 0 || !pin->gone) return;
  end(std::find_if(pins_.begin(), pins_.end(), [&](const Pin& p) { return &p == pin; }));
}

void Pins::end(std::list<Pin>::iterator pin) {
  device_.unpin(reinterpret_cast<void*>(pin->span.begin), pin->span.bytes());
  pinned_ -= pin->span.bytes();
  counted_ -= pin->counted;
  pins_.erase(pin);
}

void Pins::forget(Span span) {
  extents_.remove(span);
  for (auto request = requested_.begin(); request != requested_.end();)
    request = span.contains({request->first, request->first + 1}) ? requested_.erase(request) : std::next(request);
  for (auto pin = pins_.begin(); pin != pins_.end();) {
    const auto next = std::next(pin);
    if (pin->span.overlaps(span)) {
      pin->gone = true;
      if (pin->holds == 0) end(pin);
    }
    pin = next;
  }
}

void Pins::release() {
  requested_.clear();
  extents_.clear();
  for (auto pin = pins_.begin(); pin != pins_.end();) {
    const auto next = std::next(pin);
    pin->gone = true;
    if (pin->holds == 0) end(pin);
    pin = next;
  }
}

bool Pins::covers(Span span) const {
  return std::any_of(pins_.begin(), pins_.end(), [&](const Pin& pin) { return !pin.gone && pin.span.contains(span); });
}

}  // namespace blastoff::residency::mirror
