// The devices of this process: one, or several over one memory. A call runs on one of them, or, split, on several.
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
#include "runtime/homes.h"
#include "runtime/placement.h"
#include "runtime/session.h"
#include "runtime/splitting.h"
#include "tracking/directory.h"

namespace blastoff::runtime {

/// Thread-safe. Never destroyed, as sessions are not.
class Sessions {
 public:
  /// Opens all devices that the settings name. Of several, those that cannot be opened are left out, with a line that
  /// says why; the error, one line, is that of the last where none can. `unwanted` as in Session::start().
  static device::Result<std::unique_ptr<Sessions>> start(const config::Settings& settings,
                                                         const std::function<bool()>& unwanted);

  /// What is known of the devices and their links. The model must outlive this.
  void use(const decide::MachineModel& model);

  /// Where a call is to run: where the bytes that are missing and the work that waits there cost least, or split over
  /// several devices (see Splitting). The choice counts as work there until give_back(). Nowhere where all devices are
  /// lost.
  Placement take(const operation::Operation& operation);
  void give_back(const Placement& placement, const operation::Operation& operation);

  /// The call runs as a whole after all.
  void unsplit(Placement& placement, const operation::Operation& operation);

  /// Threads for the parts of a call beside the calling one; started at the first use.
  platform::WorkerPool& team();

  /// What the call would find where take() would send it.
  std::optional<operation::Estimate> estimate(const operation::Operation& operation);

  /// Whether any device is not lost.
  bool working() const;

  Session& front() { return *all_.front(); }
  const std::vector<Session*>& all() const { return all_; }

  /// What the first device's policy says, and what all policies are told (residency/policy.h).
  std::optional<std::vector<std::uint64_t>> used_once() { return front().policies().front()->used_once(); }
  void expect_used_once(std::span<const std::uint64_t> kinds);

  /// As residency/policy.h says, for each device.
  void leave_to_cpu(const operation::Operation& call);

  bool release_pins();
  void release_operands();
  void stop();
  void make_ready(const operation::Operation& operation);

  /// Fills the device, policy and tracker fields: those of the first device, and of several, of each.
  void describe(report::Context& context);

 private:
  struct Place {
    Session* session = nullptr;
    std::optional<operation::Estimate> estimate;
    double seconds = 0;
  };

  explicit Sessions(config::SplitMode split) : splitting_(split) {}
  std::vector<Session*> working_ones() const;
  Place cheapest(const operation::Operation& operation) const;

  std::vector<Session*> all_;                       ///< at least one
  std::unique_ptr<tracking::Directory> directory_;  ///< of several devices with mirrors
  Splitting splitting_;
  Homes homes_;
  std::mutex mutex_;  ///< one choice at a time
  std::mutex team_mutex_;
  std::unique_ptr<platform::WorkerPool> team_;
};

}  // namespace blastoff::runtime
