#include "residency_rig.h"

#include <utility>

#include "delayed_device.h"
#include "device/open.h"
#include "held_device.h"
#include "past_mirrors.h"
#include "reference_blas.h"
#include "registering_device.h"
#include "residency/copy_policy.h"
#include "residency/first_use_policy.h"
#include "residency/in_place_policy.h"
#include "unpinnable_tracker.h"

namespace blastoff::test {

std::unique_ptr<Rig> Rig::create(const Flavour& flavour, const RigOptions& options, std::string& reason,
                                 const SharedByDevices* shared) {
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
    if (!can_pin()) {
      reason = "this kernel registers no buffers";
      return nullptr;
    }
    rig->pinned_ = shared ? shared->pinned : std::make_shared<Pinned>();
    rig->device_ = pinning(std::move(rig->device_), rig->pinned_);
  }
  if (flavour.device == "delayed" || flavour.device == "pinning") {
    constexpr int longest_microseconds = 400;
    rig->device_ = delayed(std::move(rig->device_), options.seed, longest_microseconds);
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

device::CallQueues Rig::queues() {
  device::CallQueues queues;
  for (auto* queue : {&queues.upload, &queues.compute, &queues.download}) {
    auto created = device_->create_queue();
    if (created) *queue = std::move(*created);
  }
  return queues;
}

Outcome run_lease(device::Result<std::unique_ptr<residency::Lease>> begun, device::CallQueues& queues,
                  const operation::Host& host, const std::function<void()>& after_first) {
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

Outcome run_operation(residency::Policy& policy, device::CallQueues& queues, const operation::Operation& operation,
                      const operation::Host& host, const residency::Shared& shared) {
  return run_lease(policy.begin_shared(operation, queues, shared), queues, host);
}

Outcome run_call(residency::Policy& policy, device::CallQueues& queues, const blas::Call& call,
                 const std::function<void()>& after_first) {
  static const reference::ReferenceRoutine host;
  return run_lease(policy.begin(operation::Operation(call), queues), queues, host, after_first);
}

Outcome run_series(residency::Policy& policy, device::CallQueues& queues, const std::vector<blas::Call>& calls) {
  static const reference::ReferenceRoutine host;
  const std::vector<operation::Operation> series(calls.begin(), calls.end());
  return run_lease(policy.begin_series(series, queues, {}), queues, host);
}

void RigTest::start(const Flavour& flavour, const RigOptions& options) {
  std::string reason;
  rig_ = Rig::create(flavour, options, reason);
  if (!rig_) GTEST_SKIP() << reason;
  queues_ = rig_->queues();
}

}  // namespace blastoff::test
