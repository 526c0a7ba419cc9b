// Every second call bypasses the mirrors of a first-use policy, like a call that is made block by block: its operands
// are copied, directly where they are page-locked.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "residency/policy.h"

namespace blastoff::test {

class PastMirrors final : public residency::Policy {
 public:
  PastMirrors(std::unique_ptr<residency::Policy> mirrors, std::unique_ptr<residency::Policy> copies)
      : mirrors_(std::move(mirrors)), copies_(std::move(copies)) {}

  const char* name() const override { return "past-mirrors"; }
  bool keeps_operands() const override { return false; }
  std::optional<operation::Estimate> estimate(const operation::Operation& call) override {
    return mirrors_->estimate(call);
  }
  device::Result<std::unique_ptr<residency::Lease>> begin_shared(const operation::Operation& call,
                                                                 device::CallQueues& queues,
                                                                 const residency::Shared&) override {
    if (calls_++ % 2 == 0) return mirrors_->begin(call, queues);
    auto locks = mirrors_->lock_operands(call);
    auto copied = copies_->begin_shared(call, queues, {.page_locks = locks.get()});
    if (!copied) return tl::unexpected(copied.error());
    return std::make_unique<Locked>(std::move(locks), std::move(*copied));
  }
  bool release_pins() override { return mirrors_->release_pins(); }
  void release_operands() override { mirrors_->release_operands(); }
  void stop() override { mirrors_->stop(); }

 private:
  class Locked final : public residency::Lease {
   public:
    Locked(std::unique_ptr<residency::PageLocks> locks, std::unique_ptr<residency::Lease> lease)
        : locks_(std::move(locks)), lease_(std::move(lease)) {}
    const std::vector<operation::Operation>& panels() const override { return lease_->panels(); }
    device::Result<operation::Operation> acquire(std::size_t index) override { return lease_->acquire(index); }
    device::Status release(std::size_t index) override { return lease_->release(index); }
    device::Status finish() override { return lease_->finish(); }
    residency::HostState host_state(std::size_t index) override { return lease_->host_state(index); }
    const residency::Traffic& traffic() const override { return lease_->traffic(); }

   private:
    std::unique_ptr<residency::PageLocks> locks_;  // destroyed after the lease
    std::unique_ptr<residency::Lease> lease_;
  };

  std::unique_ptr<residency::Policy> mirrors_;
  std::unique_ptr<residency::Policy> copies_;
  std::atomic<unsigned> calls_{0};
};

}  // namespace blastoff::test
