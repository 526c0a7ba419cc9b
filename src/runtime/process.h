// The life of the process from Blastoff's point of view: first call, opening of devices, forks, exit. loading.h has
// what comes before.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "config/routine_choice.h"
#include "config/settings.h"
#include "device/simulated/clock.h"
#include "operation/estimate.h"
#include "platform/process_mark.h"
#include "report/context.h"
#include "runtime/device_set.h"
#include "runtime/met_memory.h"
#include "runtime/models.h"
#include "runtime/open_policy.h"
#include "runtime/opener.h"
#include "runtime/tracing.h"

namespace blastoff::runtime {

class Process final : public operation::Estimator {
 public:
  /// The Process of this process. Reads the settings at the first call; never destroyed. Throws if there is no memory
  /// for it.
  static Process& instance();

  /// nullptr if there is no memory for it.
  static Process* try_instance();

  /// nullptr if nobody has called instance() yet.
  static Process* existing();

  const config::Settings& settings() const { return settings_; }
  /// Whether the settings let this routine run on the device.
  bool offloads(operation::RoutineId routine) const { return routines_.contains(routine); }

  /// Whether another rank of the job may make the same call, and both need the same one of several right results. Ranks
  /// decide on their own, so one might take the device's and another one the CPU's. --routines can say that they do not
  /// need the same one.
  bool must_agree_with_ranks(const operation::Operation& operation) const {
    return operation.has_several_results && has_other_ranks_ && !routines_.names(operation.routine());
  }
  Models& models() { return models_; }
  decide::Decider& decider() const { return models_.decider(); }
  const decide::MachineModel& model() const { return models_.in_force(); }
  OpenPolicy& open_policy() { return open_policy_; }
  Opener& opener() { return opener_; }

  /// What the operation would find on the device; nullopt while there is no device.
  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override;

  /// The CPU is about to make the call; see residency/policy.h.
  void leave_to_cpu(const operation::Operation& operation);

  /// The program switches the device off for all later calls, or on again (include/blastoff.h). Switching off waits for
  /// calls in flight, but for a limited time, and gives back the device memory of their operands. Switching on reads
  /// the settings if nobody has, and patches the libraries that have been loaded meanwhile.
  static void switch_off();
  static void switch_on();
  static bool is_switched_off();

  /// The report as it would be if the process ended now; "" if there is no memory for it.
  std::string report_now();

  /// To be called when the library has been loaded. Opens the device beside what the program does before its first
  /// call, if the device gained in earlier runs.
  static void open_ahead();

  /// Why no call may use the device now, as far as that can be told at no cost.
  report::Refusal refusal() const { return opener_.refusal(); }

  /// Where the call is to run: on the device that suits it, on several devices, or, with the reason in `why`, on none.
  /// If no device is open yet, this call or one of Blastoff's threads opens them, as OpenPolicy decides. Every
  /// placement with a device context must be given back by give_back(). `together`: for a call that this process makes
  /// for all ranks of a job, the seconds that they take together; then the price is that of one opening.
  Placement place(const operation::Operation& operation, report::Refusal& why,
                  std::optional<double> together = std::nullopt);
  void give_back(const Placement& placement, const operation::Operation& operation);

  bool traces() const { return tracing_.wanted(); }
  /// Records calls. nullptr without --trace, and in children that did not come from fork(). Changes errno.
  trace::Tracer* tracer();

  /// For a call of the block interface: opens the devices if nobody has. devices_in_use() then returns them; nullptr
  /// if there are none. Returns false, with the reason in `why`, if the process was forked or is ending, so that no
  /// device may be used. After true, leave() must follow.
  bool enter_for_blocks(report::Refusal& why);
  void leave();
  DeviceSet* devices_in_use() { return opener_.devices(); }

  /// Seconds of a call on the CPU: `elapsed`, or the time by the clock of the simulated device.
  double seconds_on_cpu(double flops, double elapsed) const {
    return simulated_rates_ ? simulated_rates_->cpu_seconds(flops) : elapsed;
  }
  /// Whether reports give seconds by the clock of the simulated device.
  bool has_own_clock() const { return simulated_rates_.has_value(); }

  /// Tells the threads that open the device, or make it ready, to give up, and waits for them for a limited time.
  /// Returns false if one has not ended. For exit().
  bool end_opening();

  /// The program starts to use the device's driver itself. Called from within dlopen().
  void share_driver();

  /// Whether this is a child of the process that made the first call, however it was forked. A child has no CUDA, no
  /// tracker and none of Blastoff's threads: it uses no device, and its counters start at zero.
  bool in_forked_child();

  /// In each child, from the handler of pthread_atfork.
  static void before_fork();
  static void after_fork_in_parent();
  static void begin_child();

  /// The program is about to forbid itself system calls: results come home, and the report is written. Nothing that the
  /// library does from then on makes a system call (platform/confinement.h).
  static void before_confinement();
  /// Calls it in time from now on.
  static void attend_confinement();

  /// The program calls exit(): the threads that open the device end before any exit handler runs.
  static void before_exit();

  /// No call uses the device from now on. Waits for calls in flight for a limited time. For an exit handler.
  void leave_device();

  /// Writes the report and the summary, once, if the process ends normally or is about to be confined.
  void end();

 private:
  Process();
  static Process* create();
  void be_confined();

  // process_report.cpp
  static constexpr std::chrono::steady_clock::duration min_description_pause = std::chrono::seconds(1);
  report::Context describe();
  void keep_counters();
  void keep_description();
  void refresh_description();
  bool wants_summary(bool any_device, bool worked) const;
  bool is_read_of() const;

  const platform::ProcessMark mark_;
  const config::Settings settings_;
  const config::RoutineChoice routines_;
  const bool has_other_ranks_;
  const std::optional<device::simulated::Rates> simulated_rates_;
  OpenPolicy open_policy_;
  Models models_;
  Opener opener_;
  const Tracing tracing_;
  std::atomic<double> seconds_at_end_{0};  // of waiting for calls, and of giving up memory
  MetMemory met_;                          // memory of operands of calls on the device
  std::atomic<std::chrono::steady_clock::time_point> description_due_;
  std::atomic<bool> first_call_over_{false};
  std::atomic<bool> waited_{false};  // the end of the process has waited for calls in flight
};

}  // namespace blastoff::runtime
