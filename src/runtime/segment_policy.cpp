#include "runtime/segment_policy.h"

#include <utility>

#include "runtime/gathered_locks.h"

namespace blastoff::runtime {

SegmentPolicy::SegmentPolicy(device::Device& device, residency::Staging& staging, residency::FirstUseSettings settings)
    : device_(device), staging_(staging), settings_(std::move(settings)) {
  settings_.direct_copies = nullptr;
  settings_.results = residency::Results::home;
}

residency::Policy& SegmentPolicy::policy() {
  const std::lock_guard lock(mutex_);
  if (!policy_) {
    settings_.pins = {std::shared_ptr<void>(), &pins_of_segments()};
    auto tracker = std::make_unique<SegmentTracker>();
    tracker_ = tracker.get();
    ledger_ = std::make_unique<ledger::Ledger>(std::move(tracker));
    policy_ = residency::create_first_use_policy(device_, staging_, *ledger_, settings_);
  }
  return *policy_;
}

bool SegmentPolicy::release_operands() {
  const std::lock_guard lock(mutex_);
  if (policy_) policy_->release_operands();
  return policy_ != nullptr;
}

bool SegmentPolicy::release_pins() {
  const std::lock_guard lock(mutex_);
  return !policy_ || policy_->release_pins();
}

void SegmentPolicy::stop() {
  const std::lock_guard lock(mutex_);
  if (policy_) policy_->stop();
}

}  // namespace blastoff::runtime
