// The policy for gathered calls, whose operands lie in memory that the ranks of a job share.
#pragma once

#include <memory>
#include <mutex>

#include "ledger/ledger.h"
#include "residency/first_use_policy.h"
#include "residency/policy.h"
#include "runtime/segment_tracker.h"

namespace blastoff::runtime {

/// Makes the policy when it is first used. Thread-safe.
class SegmentPolicy {
 public:
  /// `device` and `staging` must outlive this. `settings`: of the policy for other calls.
  SegmentPolicy(device::Device& device, residency::Staging& staging, residency::FirstUseSettings settings);

  residency::Policy& policy();
  /// The tracker of the policy, which must have been made.
  const SegmentTracker* tracker() const { return tracker_; }

  /// Gives back the device memory of its operands. Returns false if there is no policy yet.
  bool release_operands();
  /// As Policy::release_pins().
  bool release_pins();
  /// As Policy::stop().
  void stop();

 private:
  device::Device& device_;
  residency::Staging& staging_;
  std::mutex mutex_;
  residency::FirstUseSettings settings_;
  const SegmentTracker* tracker_ = nullptr;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<residency::Policy> policy_;
};

}  // namespace blastoff::runtime
