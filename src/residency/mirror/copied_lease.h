// A call that goes past the mirrors, by copies.
#pragma once

#include <memory>
#include <vector>

#include "operation/operation.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/operand_locks.h"
#include "residency/policy.h"

namespace blastoff::residency::mirror {

/// The copy policy's lease, of whose operands the mirrors keep what they know.
class CopiedLease final : public Lease {
 public:
  /// `rewritten`: bytes that the CPU has written since an earlier use.
  static device::Result<std::unique_ptr<Lease>> begin(Coherence& coherence, Policy& copies,
                                                      const operation::Operation& call, device::CallQueues& queues,
                                                      std::uint64_t rewritten);

  const std::vector<operation::Operation>& panels() const override { return copies_->panels(); }
  device::Result<operation::Operation> acquire(std::size_t index) override { return copies_->acquire(index); }
  device::Status release(std::size_t index) override { return copies_->release(index); }
  device::Status finish() override;
  HostState host_state(std::size_t index) override { return copies_->host_state(index); }
  const Traffic& traffic() const override;

 private:
  CopiedLease(Coherence& coherence, const operation::Operation& call, std::uint64_t rewritten)
      : coherence_(coherence), call_(call), rewritten_(rewritten), locks_(coherence, call) {}

  Coherence& coherence_;
  const operation::Operation call_;
  const std::uint64_t rewritten_;
  const OperandLocks locks_;
  std::unique_ptr<Lease> copies_;
  mutable Traffic traffic_;
};

}  // namespace blastoff::residency::mirror
