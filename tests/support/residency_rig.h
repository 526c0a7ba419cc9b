// A residency policy with all objects that it needs, and a function that takes a call through it as the runtime does.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "blas/front_end.h"
#include "delayed_device.h"
#include "device/open.h"
#include "held_device.h"
#include "ledger/ledger.h"
#include "past_mirrors.h"
#include "pinning_device.h"
#include "platform/worker_pool.h"
#include "reference_blas.h"
#include "registering_device.h"
#include "residency/copy_policy.h"
#include "residency/first_use_policy.h"
#include "residency/in_place_policy.h"
#include "residency/policy.h"
#include "residency/staging.h"
#include "tracking/page_tracker.h"
#include "unpinnable_tracker.h"

namespace blastoff::test {

struct Flavour {
  /// "copy", "first-use" (by mirrors), "stay" (the same, and results stay on the device), "past-mirrors" (every second
  /// call), "moves" (first-use by moving pages), "coherent"
  std::string policy;
  std::string device;  ///< "simulated", "delayed" (works late), "pinning" (works late, and can pin), "cuda"
  tracking::TrackerKind tracker = tracking::TrackerKind::uffd;  ///< for first-use

  bool soft_dirty() const { return tracker == tracking::TrackerKind::soft_dirty; }
  bool stays() const { return policy == "stay"; }
  bool mirrors() const { return policy == "first-use" || stays(); }
  /// Whether the device works on the program's own memory; a simulated device then has the coherent form.
  bool in_place() const { return policy == "moves" || policy == "coherent"; }
};

inline void PrintTo(const Flavour& flavour, std::ostream* out) {
  *out << flavour.policy << " on " << flavour.device << (flavour.soft_dirty() ? " by soft-dirty bits" : "");
}

struct RigOptions {
  std::size_t simulated_memory = std::size_t{256} << 20;
  std::size_t budget = std::size_t{128} << 20;  ///< the policy's
  std::string fault;
  std::size_t slot_bytes = std::size_t{64} << 10;  ///< small, so that all transfers take several slots
  std::size_t slots = 6;
  int workers = 2;
  bool verify = false;
  bool may_pin = true;                           ///< whether the tracker permits pinning
  std::shared_ptr<Registrations> registrations;  ///< made by the program on the device
  std::shared_ptr<HeldCalls> held;               ///< calls of the driver that the test can hold
  residency::PanelSizes panels = {};             ///< for first-use
  std::optional<std::size_t> max_copied;         ///< for first-use
  std::optional<residency::Results> results;     ///< for "stay"
  unsigned seed = 1;
};

/// The objects that the devices of a process share.
struct SharedByDevices {
  std::shared_ptr<ledger::Ledger> ledger;
  std::shared_ptr<residency::mirror::Pins> pins = residency::create_pins(std::size_t{1} << 30);
  std::shared_ptr<device::DirectCopies> direct_copies = std::make_shared<device::DirectCopies>();
  std::shared_ptr<Pinned> pinned = std::make_shared<Pinned>();  ///< for pinning devices
};

class Rig {
 public:
  /// `shared`: the objects shared with the other devices on the same memory; nullptr if there are none.
  /// Returns an empty pointer, and sets the reason, if this machine cannot have such a rig.
  static std::unique_ptr<Rig> create(const Flavour& flavour, const RigOptions& options, std::string& reason,
                                     const SharedByDevices* shared = nullptr) {
    auto rig = std::unique_ptr<Rig>(new Rig);
    device::Choice choice;
    choice.name = flavour.device == "cuda" ? "cuda" : "simulated";
    choice.simulated_memory = options.simulated_memory;
    choice.simulated_fault = options.fault;
    if (flavour.in_place()) {
      choice.simulated_access = device::HostAccess::coherent;
      choice.memory_node = 0;
    }
    auto opened = device::open(choice);
    if (!opened) {
      reason = opened.error().message;
      return nullptr;
    }
    rig->device_ = std::move(*opened);
    if (flavour.device == "pinning") {
      if (!PinningDevice::works()) {
        reason = "this kernel registers no buffers";
        return nullptr;
      }
      auto pinning = std::make_unique<PinningDevice>(std::move(rig->device_),
                                                     shared ? shared->pinned : std::make_shared<Pinned>());
      rig->pinned_ = pinning->pinned();
      rig->device_ = std::move(pinning);
    }
    if (flavour.device == "delayed" || flavour.device == "pinning") {
      constexpr int longest_microseconds = 400;
      rig->device_ = std::make_unique<DelayedDevice>(std::move(rig->device_), options.seed, longest_microseconds);
    }
    if (options.registrations)
      rig->device_ = std::make_unique<RegisteringDevice>(std::move(rig->device_), options.registrations);
    if (options.held) rig->device_ = std::make_unique<HeldDevice>(std::move(rig->device_), options.held);
    rig->free_at_start_ = rig->free_memory();
    rig->pool_ = platform::create_worker_pool(options.workers);
    auto staging = residency::create_staging(*rig->device_, *rig->pool_, options.slot_bytes, options.slots);
    if (!staging) {
      reason = staging.error().message;
      return nullptr;
    }
    rig->staging_ = std::move(*staging);
    if (flavour.in_place()) {
      if (rig->device_->properties().host_access == device::HostAccess::none) {
        reason = "this device does not reach the program's memory";
        return nullptr;
      }
      if (auto events = tracking::open_memory_events()) rig->events_ = std::move(*events);
      residency::InPlaceSettings settings;
      settings.node = rig->device_->properties().memory_node;
      settings.before = flavour.policy == "moves" ? residency::Before::move : residency::Before::nothing;
      rig->policy_ = residency::create_in_place_policy(*rig->pool_, rig->events_.get(), settings);
      return rig;
    }
    const auto client = flavour.policy == "copy" ? device::MemoryClient::copies : device::MemoryClient::mirrors;
    rig->device_->accountant().limit(client, options.budget);
    if (flavour.policy == "copy") {
      rig->policy_ = residency::create_copy_policy(*rig->device_, *rig->staging_);
      return rig;
    }
    if (shared) {
      rig->ledger_ = shared->ledger;
    } else {
      auto tracker = tracking::open_page_tracker(flavour.tracker);
      if (!tracker) {
        reason = tracker.error();
        return nullptr;
      }
      if (!options.may_pin) *tracker = std::make_unique<UnpinnableTracker>(std::move(*tracker));
      if (flavour.stays() && (*tracker)->absent_pages() == nullptr) {
        reason = "this kernel does not let pages be filled for its own accesses";
        return nullptr;
      }
      rig->ledger_ = std::make_shared<ledger::Ledger>(
          std::move(*tracker), ledger::Ledger::Places::one,
          flavour.stays() ? ledger::Ledger::Results::may_stay : ledger::Ledger::Results::go_home);
    }
    residency::FirstUseSettings settings;
    settings.pins = shared ? shared->pins : residency::create_pins(std::size_t{1} << 30);
    if (shared) settings.direct_copies = shared->direct_copies;
    settings.min_borrowed = 1;
    settings.patience = 60;  // enough for slow tests
    settings.verify = options.verify;
    settings.results = flavour.stays() ? options.results.value_or(residency::Results::stay) : residency::Results::home;
    settings.panels = options.panels;
    settings.buffers = residency::create_buffers(*rig->device_);
    settings.max_copied = options.max_copied.value_or(settings.max_copied);
    rig->policy_ = residency::create_first_use_policy(*rig->device_, *rig->staging_, *rig->ledger_, settings);
    if (flavour.policy == "past-mirrors") {
      rig->device_->accountant().limit(device::MemoryClient::copies, options.budget);
      rig->policy_ = std::make_unique<PastMirrors>(
          std::move(rig->policy_), residency::create_copy_policy(*rig->device_, *rig->staging_, settings.buffers));
    }
    return rig;
  }

  device::Device& device() { return *device_; }
  residency::Policy& policy() { return *policy_; }
  /// Only for first-use.
  tracking::PageTracker& tracker() { return ledger_->tracker(); }
  std::size_t free_memory() {
    auto info = device_->memory_info();
    return info ? info->free : 0;
  }
  /// The number of copies made without the page table (on a pinning device).
  std::uint64_t unseen_writes() { return pinned_ ? pinned_->writes() : 0; }
  std::uint64_t unseen_reads() { return pinned_ ? pinned_->reads() : 0; }
  std::size_t pin_count() { return pinned_ ? pinned_->count() : 0; }
  void forbid_pins() { pinned_->forbid(); }
  std::size_t free_at_start() const { return free_at_start_; }
  void end_policy() {
    policy_.reset();
    staging_.reset();
  }

  device::CallQueues queues() {
    device::CallQueues queues;
    for (auto* queue : {&queues.upload, &queues.compute, &queues.download}) {
      auto created = device_->create_queue();
      if (created) *queue = std::move(*created);
    }
    return queues;
  }

 private:
  Rig() = default;

  std::shared_ptr<Pinned> pinned_;
  std::unique_ptr<device::Device> device_;
  std::size_t free_at_start_ = 0;
  std::unique_ptr<platform::WorkerPool> pool_;
  std::shared_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<tracking::MemoryEvents> events_;
  std::unique_ptr<residency::Staging> staging_;
  std::unique_ptr<residency::Policy> policy_;
};

/// The outcome of a call through a policy.
struct Outcome {
  std::optional<device::Error> error;
  bool begun = false;                        ///< begin() gave a lease
  std::vector<residency::HostState> states;  ///< after an error, one for each panel
  std::vector<operation::Operation> panels;
  residency::Traffic traffic;
};

/// Calls `after_first`, if there is one, between the first panel and the others.
inline Outcome run_lease(device::Result<std::unique_ptr<residency::Lease>> begun, device::CallQueues& queues,
                         const operation::Host& host, const std::function<void()>& after_first = {}) {
  Outcome outcome;
  if (!begun) {
    outcome.error = begun.error();
    return outcome;
  }
  outcome.begun = true;
  residency::Lease& lease = **begun;
  outcome.panels = lease.panels();
  const auto run = [&]() -> device::Status {
    for (std::size_t i = 0; i < outcome.panels.size(); ++i) {
      auto panel = lease.acquire(i);
      if (!panel) return tl::unexpected(panel.error());
      if (auto executed = queues.compute->execute(*panel, host); !executed) return executed;
      if (auto released = lease.release(i); !released) return released;
      if (i == 0 && after_first) after_first();
    }
    return lease.finish();
  };
  if (auto done = run(); !done) {
    outcome.error = done.error();
    for (std::size_t i = 0; i < outcome.panels.size(); ++i) outcome.states.push_back(lease.host_state(i));
  }
  outcome.traffic = lease.traffic();
  return outcome;
}

inline Outcome run_operation(residency::Policy& policy, device::CallQueues& queues,
                             const operation::Operation& operation, const operation::Host& host,
                             const residency::Shared& shared = {}) {
  return run_lease(policy.begin_shared(operation, queues, shared), queues, host);
}

inline Outcome run_call(residency::Policy& policy, device::CallQueues& queues, const blas::Call& call,
                        const std::function<void()>& after_first = {}) {
  static const reference::ReferenceRoutine host;
  return run_lease(policy.begin(operation::Operation(call), queues), queues, host, after_first);
}

inline Outcome run_series(residency::Policy& policy, device::CallQueues& queues, const std::vector<blas::Call>& calls) {
  static const reference::ReferenceRoutine host;
  const std::vector<operation::Operation> series(calls.begin(), calls.end());
  return run_lease(policy.begin_series(series, queues, {}), queues, host);
}

/// A test with one rig.
class RigTest : public testing::Test {
 protected:
  /// Skips the test if this machine does not have the device or the tracking.
  void start(const Flavour& flavour, const RigOptions& options = {}) {
    std::string reason;
    rig_ = Rig::create(flavour, options, reason);
    if (!rig_) GTEST_SKIP() << reason;
    queues_ = rig_->queues();
  }

  std::unique_ptr<Rig> rig_;
  device::CallQueues queues_;
};

class FlavourTest : public RigTest, public testing::WithParamInterface<Flavour> {
 protected:
  void start(const RigOptions& options = {}) { RigTest::start(GetParam(), options); }
};

}  // namespace blastoff::test
