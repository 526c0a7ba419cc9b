#include "residency/mirror/copied_lease.h"

#include <utility>

namespace blastoff::residency::mirror {

device::Result<std::unique_ptr<Lease>> CopiedLease::begin(Coherence& coherence, Policy& copies,
                                                          const operation::Operation& call, device::CallQueues& queues,
                                                          std::uint64_t rewritten) {
  std::unique_ptr<CopiedLease> lease(new CopiedLease(coherence, call, rewritten));
  auto begun = copies.begin_shared(call, queues, {.page_locks = &lease->locks_});
  if (!begun) return tl::unexpected(std::move(begun.error()));
  lease->copies_ = std::move(*begun);
  return lease;
}

device::Status CopiedLease::finish() {
  auto home = copies_->finish();
  if (home) coherence_.passed(call_);
  return home;
}

const Traffic& CopiedLease::traffic() const {
  traffic_ = copies_->traffic();
  traffic_.bytes_rewritten = rewritten_;
  return traffic_;
}

}  // namespace blastoff::residency::mirror
