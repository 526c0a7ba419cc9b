#include "runtime/gathered_locks.h"

#include <algorithm>
#include <mutex>

#include "platform/memory_limits.h"
#include "residency/footprint.h"

namespace blastoff::runtime {

residency::mirror::Pins& pins_of_segments() {
  constexpr std::size_t share = 8;  // of the machine's memory, at most
  static auto& pins = *new residency::mirror::Pins(platform::usable_memory() / share);
  return pins;
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
}

bool GatheredLocks::readable(platform::Span host) const {
  return std::ranges::any_of(held_, [&](const residency::mirror::Pins::Pin* pin) {
    return pin != nullptr && !pin->gone && pin->span.contains(host);
  });
}

}  // namespace blastoff::runtime
