// A residency policy with all objects that it needs, and a function that takes a call through it as the runtime does.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "held_device.h"
#include "ledger/ledger.h"
#include "pinning_device.h"
#include "platform/worker_pool.h"
#include "reference_blas.h"
#include "registering_device.h"
#include "residency/first_use_policy.h"
#include "residency/policy.h"
#include "residency/staging.h"
#include "tracking/page_tracker.h"

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
                                     const SharedByDevices* shared = nullptr);

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

  device::CallQueues queues();

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
Outcome run_lease(device::Result<std::unique_ptr<residency::Lease>> begun, device::CallQueues& queues,
                  const operation::Host& host, const std::function<void()>& after_first = {});

Outcome run_operation(residency::Policy& policy, device::CallQueues& queues, const operation::Operation& operation,
                      const operation::Host& host, const residency::Shared& shared = {});

Outcome run_call(residency::Policy& policy, device::CallQueues& queues, const blas::Call& call,
                 const std::function<void()>& after_first = {});

Outcome run_series(residency::Policy& policy, device::CallQueues& queues, const std::vector<blas::Call>& calls);

/// A test with one rig.
class RigTest : public testing::Test {
 protected:
  /// Skips the test if this machine does not have the device or the tracking.
  void start(const Flavour& flavour, const RigOptions& options = {});

  std::unique_ptr<Rig> rig_;
  device::CallQueues queues_;
};

class FlavourTest : public RigTest, public testing::WithParamInterface<Flavour> {
 protected:
  void start(const RigOptions& options = {}) { RigTest::start(GetParam(), options); }
};

}  // namespace blastoff::test
