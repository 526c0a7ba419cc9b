// Brings to the device what a call lacks there: from page-locked host memory, through the staging slots, or from other
// devices.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/device.h"
#include "platform/interval_set.h"
#include "residency/mirror/coherence.h"
#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency::mirror {

/// When other devices are asked. FirstUseSettings explains both.
struct Borrowing {
  std::size_t min_bytes;
  double patience;
};

/// The uploads of one hold. Used by one thread. Other devices keep what they give for it until arrived() or the
/// destructor.
class OperandUpload {
 public:
  OperandUpload(Coherence& coherence, Staging& staging, device::CallQueues& queues, PageAcquisition& acquisition,
                const Shared& shared, Borrowing borrowing, Traffic& traffic)
      : coherence_(coherence),
        staging_(staging),
        queues_(queues),
        acquisition_(acquisition),
        shared_(shared),
        borrowing_(borrowing),
        traffic_(traffic) {}

  /// Queues on queues.upload what the acquisition has to upload, and `others`: copies to device memory of the call's
  /// own.
  device::Status bring(std::vector<Transfer> others);

  /// Some of it is copied from page-locked host memory, and may be under way when bring() returns.
  bool pinned() const { return pinned_; }

  /// All that has been queued is there. Other devices need not keep it any more.
  void arrived() { loans_.clear(); }

 private:
  bool worth_borrowing() const;
  std::vector<Transfer> to_bring(const platform::IntervalSet& except) const;
  device::Status send(std::vector<Transfer> transfers);
  bool is_pinned(const Transfer& transfer) const;
  device::Status borrow();
  device::Status bring_slices();
  device::Status copy_runs(std::span<const ledger::PagesOnDevice> runs, bool tracked);

  Coherence& coherence_;
  Staging& staging_;
  device::CallQueues& queues_;
  PageAcquisition& acquisition_;
  const Shared& shared_;
  const Borrowing borrowing_;
  Traffic& traffic_;
  std::vector<ledger::Loan> loans_;
  platform::IntervalSet borrowed_;  ///< of the acquisition's uploads, what comes from other devices
  bool pinned_ = false;
};

}  // namespace blastoff::residency::mirror
