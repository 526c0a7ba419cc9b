#include "residency/first_use_policy.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>

#include "platform/background.h"
#include "platform/contained.h"
#include "platform/thread_ends.h"
#include "residency/copy_policy.h"
#include "residency/first_use_lease.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/copied_lease.h"
#include "residency/mirror/operand_locks.h"

namespace blastoff::residency {

namespace {

using device::Result;

// Giving back device memory and getting it anew takes up to 0.3 ms. A program that maps a matrix where it has just
// unmapped one should not lose this time.
constexpr double dead_seconds = 0.02;

class FirstUsePolicy final : public Policy {
 public:
  FirstUsePolicy(device::Device& device, Staging& staging, ledger::Ledger& ledger, const FirstUseSettings& settings)
      : device_(device),
        staging_(staging),
        settings_(settings),
        coherence_(device, ledger, settings.pins ? settings.pins : create_pins(0), settings.direct_copies,
                   settings.max_copied, settings.fingerprint, settings.results),
        buffers_(settings.buffers ? settings.buffers : create_buffers(device)),
        copies_(create_copy_policy(device, staging, buffers_)),
        toolbox_(device) {
    tidying_ = platform::start_thread("blastoff-tidy", [this] {
      platform::give_way();
      // What there is no memory for now, the next call does.
      while (coherence_.wait_for_events())
        platform::contained([this] {
          while (coherence_.tidy(dead_seconds) && !stops_soon()) {
          }
        });
      platform::announce_end();
      tidying_ = false;
      tidying_.notify_all();
    });
  }

  ~FirstUsePolicy() override { stop(); }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_all();
    coherence_.stop_waiting();
    tidying_.wait(true);
  }

  std::unique_ptr<PageLocks> lock_operands(const operation::Operation& call) override {
    return std::make_unique<mirror::OperandLocks>(coherence_, call);
  }
  bool release_pins() override { return coherence_.release_pins(); }
  void release_operands() override {
    coherence_.release_mirrors();
    buffers_->trim();
  }
  void leave_to_cpu(const operation::Operation& call) override { coherence_.leave_to_cpu(call); }
  device::Status make_there(const VectorsThere& vectors, device::CallQueues& queues,
                            std::vector<PartThere>& made) override {
    return coherence_.make_there(vectors, queues, made);
  }
  std::optional<std::vector<std::uint64_t>> used_once() override { return coherence_.used_once(); }
  void expect_used_once(std::span<const std::uint64_t> kinds) override { coherence_.expect_used_once(kinds); }

  const char* name() const override { return "first-use"; }
  bool keeps_operands() const override { return true; }
  std::optional<operation::Estimate> estimate(const operation::Operation& call) override {
    return coherence_.estimate(call);
  }
  Result<std::unique_ptr<Lease>> begin_shared(const operation::Operation& call, device::CallQueues& queues,
                                              const Shared& shared) override;

 private:
  Result<std::unique_ptr<Lease>> attempt(const operation::Operation& call, device::CallQueues& queues,
                                         const Shared& shared, mirror::Copied may_copy);

  // Until the next look at memory that is dead. Events wait that long at most.
  bool stops_soon() {
    constexpr std::chrono::milliseconds pause{2};
    std::unique_lock lock(mutex_);
    return stopped_.wait_for(lock, pause, [this] { return stopping_; });
  }

  device::Device& device_;
  Staging& staging_;
  FirstUseSettings settings_;
  mirror::Coherence coherence_;
  const std::shared_ptr<device::MemoryPool> buffers_;
  std::unique_ptr<Policy> copies_;  // of calls that go past the mirrors
  std::atomic<bool> tidying_{false};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  Toolbox<FirstUseTools> toolbox_;
};

Result<std::unique_ptr<Lease>> FirstUsePolicy::begin_shared(const operation::Operation& call,
                                                            device::CallQueues& queues, const Shared& shared) {
  // What parts of a call bring together, they bring to mirrors.
  Result<std::unique_ptr<Lease>> lease = tl::unexpected(device::no_host_memory());
  platform::contained(
      [&] { lease = attempt(call, queues, shared, shared.sharing ? mirror::Copied::small : mirror::Copied::any); });
  // Mirrors have a budget of their own.
  const bool short_of_memory = !lease && lease.error().kind == device::ErrorKind::out_of_memory;
  if (short_of_memory) platform::contained([&] { lease = attempt(call, queues, shared, mirror::Copied::none); });
  if (!lease && shared.sharing)
    shared.sharing->claimed(shared.part, shared.number, nullptr);  // nobody is to wait for it
  return lease;
}

Result<std::unique_ptr<Lease>> FirstUsePolicy::attempt(const operation::Operation& call, device::CallQueues& queues,
                                                       const Shared& shared, mirror::Copied may_copy) {
  auto tools = toolbox_.take();
  if (!tools) return tl::unexpected(tools.error());
  std::unique_ptr<FirstUseLease> lease;
  const LeaseMeans means{device_, staging_, settings_, coherence_, *buffers_, toolbox_};
  if (!platform::contained([&] { lease = std::make_unique<FirstUseLease>(means, queues, call, shared, *tools); })) {
    toolbox_.give_back(std::move(*tools));
    return tl::unexpected(device::no_host_memory());
  }
  if (auto held = lease->acquire(may_copy); !held) return tl::unexpected(held.error());
  if (const auto rewritten = lease->past_mirrors()) {
    auto copied = mirror::CopiedLease::begin(coherence_, *copies_, call, queues, *rewritten);
    if (copied || copied.error().kind != device::ErrorKind::out_of_memory) return copied;
    return attempt(call, queues, shared, mirror::Copied::small);
  }
  if (auto prepared = lease->prepare(); !prepared) return tl::unexpected(prepared.error());
  return lease;
}

}  // namespace

std::shared_ptr<mirror::Pins> create_pins(std::size_t limit) {
  return std::make_shared<mirror::Pins>(limit);
}

std::unique_ptr<Policy> create_first_use_policy(device::Device& device, Staging& staging, ledger::Ledger& ledger,
                                                const FirstUseSettings& settings) {
  return std::make_unique<FirstUsePolicy>(device, staging, ledger, settings);
}

}  // namespace blastoff::residency
