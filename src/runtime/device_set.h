// The devices of this process: one, or several that share the host's memory. A call runs on one of them or, split, on
// several.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "config/settings.h"
#include "operation/estimate.h"
#include "operation/operation.h"
#include "platform/worker_pool.h"
#include "report/context.h"
#include "runtime/device_context.h"
#include "runtime/latest_devices.h"
#include "runtime/placement.h"
#include "runtime/split_policy.h"

namespace blastoff::runtime {

/// Thread-safe. Never destroyed, as devices are not.
class DeviceSet {
 public:
  /// Opens all devices that the settings name. If there are several, those that cannot be opened are left out, and a
  /// line on stderr says why. If none can be opened, the error (one line) is that of the last. `unwanted` as in
  /// DeviceContext::start().
  static device::Result<std::unique_ptr<DeviceSet>> start(const config::Settings& settings,
                                                          const std::function<bool()>& unwanted);

  /// Sets the model of the devices and their links. The model must outlive this.
  void use(const decide::MachineModel& model);

  /// Chooses where a call runs: on the device where missing bytes and waiting work cost least, or split over several
  /// devices (SplitPolicy). The call counts as work there until give_back(). The placement has no device context if
  /// all devices are lost.
  Placement take(const operation::Operation& operation);
  void give_back(const Placement& placement, const operation::Operation& operation);

  /// The call that was to be split runs as a whole.
  void unsplit(Placement& placement, const operation::Operation& operation);

  /// Threads that run the parts of a split call, beside the calling thread; started at the first use.
  platform::WorkerPool& team();

  /// What the call would find on the device that take() would choose.
  std::optional<operation::Estimate> estimate(const operation::Operation& operation);

  /// Whether any device is not lost.
  bool working() const;

  DeviceContext& front() { return *all_.front(); }
  const std::vector<DeviceContext*>& all() const { return all_; }

  /// used_once() asks the policy of the first device; expect_used_once() tells the policies of all
  /// (residency/policy.h).
  std::optional<std::vector<std::uint64_t>> used_once() { return front().policies().front()->used_once(); }
  void expect_used_once(std::span<const std::uint64_t> kinds);

  /// Calls leave_to_cpu() of each device's policy (residency/policy.h).
  void leave_to_cpu(const operation::Operation& call);

  bool release_pins();
  void bring_results_home();
  void before_fork();
  void after_fork_in_parent();
  void release_operands();
  void stop();
  void end();
  void make_ready(const operation::Operation& operation);

  /// Fills the device, policy and tracker fields from the first device. If there are several devices, adds the list of
  /// them, and the memory and copied operands of the others.
  void describe(report::Context& context);

 private:
  struct Place {
    DeviceContext* context = nullptr;
    std::optional<operation::Estimate> estimate;
    double seconds = 0;
  };

  explicit DeviceSet(config::SplitMode split) : split_policy_(split) {}
  std::vector<DeviceContext*> working_ones() const;
  Place cheapest(const operation::Operation& operation) const;

  std::vector<DeviceContext*> all_;  ///< at least one
  SplitPolicy split_policy_;
  LatestDevices latest_devices_;
  std::mutex mutex_;  ///< held while a place is chosen
  std::mutex team_mutex_;
  std::unique_ptr<platform::WorkerPool> team_;
};

}  // namespace blastoff::runtime
