// The life of the process from Blastoff's point of view: first call, opening of devices, forks, exit. loading.h has
// what comes before.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "config/routine_choice.h"
#include "config/settings.h"
#include "decide/decider.h"
#include "decide/machine_model.h"
#include "device/simulated/clock.h"
#include "operation/estimate.h"
#include "operation/front_end.h"
#include "platform/process_mark.h"
#include "platform/span.h"
#include "report/context.h"
#include "report/record.h"
#include "runtime/device_set.h"
#include "runtime/earlier_rates.h"
#include "runtime/met_memory.h"
#include "runtime/model_search.h"
#include "runtime/open_policy.h"
#include "runtime/run_history.h"
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
  decide::Decider& decider() { return *decider_; }
  const decide::MachineModel& model() const { return *model_; }

  /// Whether a machine model has been looked for. seek_model() does that once, before the first call is judged. It
  /// changes errno and the floating-point environment, and must not be left half done by a handler.
  bool model_sought() const { return model_sought_.load(std::memory_order_relaxed); }
  void seek_model();

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
  report::Refusal refusal() const;

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
  DeviceSet* devices_in_use() { return devices_; }

  /// The CPU has made a call because the device was not open yet.
  void add_spent_before_opening(SpentOnCpu call, SpentOnCpu before) { open_policy_.add_spent(call, before); }
  /// All ranks have made a call together that this process would make for all. `whole.on_device`: what all would wait
  /// for this process.
  void add_spent_together(SpentOnCpu whole) { open_policy_.add_spent(whole, OpenPolicy::added_by_this_thread()); }
  /// Opens the device beside the program, for calls that this process makes for all ranks, if it is time. `memory`:
  /// what such calls use of the memory that the ranks share.
  void open_beside_for_all(const operation::Operation& operation, platform::Span memory);
  /// Page-locks such memory beside the program, for calls to come.
  void lock_beside(platform::Span memory);
  /// This process has made a call for all ranks, or would make the next one like it.
  void add_made_for_all(double flops) { flops_for_all_.fetch_add(flops, std::memory_order_relaxed); }

  /// Expected seconds of a call on the device if the device holds the operands.
  double expected_device_seconds(const operation::Operation& operation) const {
    return own_share_.load()->device_seconds_of(operation);
  }

  /// Seconds of a call on the CPU: `elapsed`, or the time by the clock of the simulated device.
  double seconds_on_cpu(double flops, double elapsed) const {
    return simulated_rates_ ? simulated_rates_->cpu_seconds(flops) : elapsed;
  }
  /// Whether reports give seconds by the clock of the simulated device.
  bool has_own_clock() const { return simulated_rates_.has_value(); }

  /// Whether Blastoff's threads are opening the device or making it ready, beside the program.
  bool opens_beside() const { return in_background_.load(std::memory_order_relaxed) > 0; }

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

  /// From now on the main thread, when it ends, waits for the threads that open the device; see end_opening().
  static void guard_opening();

  /// No call uses the device from now on. Waits for calls in flight for a limited time. For an exit handler.
  void leave_device();

  /// Writes the report and the summary, once, if the process ends normally.
  void end();

 private:
  /// The longest wait at the end of the process, for calls in flight or for threads that open the device.
  static constexpr std::chrono::seconds longest_wait{10};

  Process();
  static Process* create();
  bool find_host_model();
  void seek_model_of(const std::string& gpu);
  void use_model(const FoundModel* device);
  void use_floor();
  void decide_by_model();
  const decide::MachineModel& model_of_devices();
  void wait_for_calls();
  /// Whether the program runs this code inside one of its own calls (in a handler). The locks of that call stay taken
  /// meanwhile.
  static bool inside_a_call();
  /// Whether this process is a child that fork() has announced.
  static bool was_forked();
  static bool is_exiting();

  // process_opening.cpp
  /// A process that hangs must not hold up this one. The longest wait for its turn: while a call waits, and in the
  /// background.
  static constexpr std::chrono::seconds longest_turn_of_others{10};
  static constexpr std::chrono::seconds longest_turn_in_background{60};
  bool start_in_turn(const operation::Operation* first, std::chrono::duration<double> longest);
  void start_in_turn_or_late(const operation::Operation* first, std::chrono::seconds longest);
  void start_devices(const operation::Operation* first);
  void find_devices(const operation::Operation* first);
  void recall_earlier_runs();
  void recall_earlier_rates();
  void open_as_foreseen();
  void note_first_call();
  static double age();
  /// A moment of the process; at first, its begin.
  struct Moment {
    double age = 0;          ///< seconds since the library was loaded
    double cpu_seconds = 0;  ///< used by all threads
  };
  static bool has_left_cores_idle(const Moment& since);
  bool open_for(const operation::Operation& operation, std::optional<double> together);
  bool open_in_background(const operation::Operation& operation, platform::Span memory = {});
  void lock_memory(platform::Span memory);
  double expected_cpu_seconds(const operation::Operation& operation) const;
  bool ready_for(const operation::Operation& operation, std::optional<double> together);
  /// Runs `body` on a thread. That thread calls `failed` if `body` ran out of memory.
  bool run_in_background(const std::function<void()>& body, const std::function<void()>& failed);
  static void before_exit();

  // process_report.cpp
  static constexpr std::chrono::steady_clock::duration min_description_pause = std::chrono::seconds(1);
  report::Context describe();
  void keep_counters();
  void keep_description();
  void refresh_description();
  void keep_times(const report::Totals& totals) const;
  void keep_rates();
  bool wants_summary(bool any_device, bool worked) const;
  bool is_read_of() const;

  const platform::ProcessMark mark_;
  const config::Settings settings_;
  const config::RoutineChoice routines_;
  const decide::MachineModel assumed_;
  const std::optional<device::simulated::Rates> simulated_rates_;
  const std::unique_ptr<decide::Decider> decider_;
  const Tracing tracing_;
  OpenPolicy open_policy_;
  std::atomic<double> flops_for_all_{0};
  std::atomic<bool> recalled_{false};
  std::atomic<RunHistory*> run_history_{nullptr};      // set once they have been looked for; never freed
  std::atomic<EarlierRates*> earlier_rates_{nullptr};  // set once they have been looked for; never freed
  std::atomic<double> seconds_at_end_{0};              // of waiting for calls and threads, and of giving up memory
  std::atomic<bool> opened_ahead_{false};
  std::atomic<bool> first_call_noted_{false};  // the first call that is worth the device
  std::atomic<double> first_call_age_{0};      // Moment of that call
  std::atomic<double> first_call_cpu_{0};
  std::atomic<double> lead_{0};  // RunTimes::lead of this run alone
  std::atomic<bool> model_sought_{false};
  std::mutex model_mutex_;
  std::optional<FoundModel> host_model_;  // named by the settings, or this machine's own
  std::string gpu_sought_;                // GPU for which a model has been looked for
  std::string model_description_;
  std::atomic<const decide::MachineModel*> model_{&assumed_};  // the model in force
  // The same for this process's share of the device.
  std::atomic<const decide::MachineModel*> own_share_{&assumed_};
  std::atomic<int> expected_sharers_{1};  // processes of each device, as far as that is known before one is open
  std::mutex turn_mutex_;                 // held in the process's turn; taken before mutex_
  std::mutex mutex_;
  std::atomic<DeviceSet*> devices_{nullptr};
  std::optional<report::DeviceOpening> opened_;  // written before tried_ is set
  std::atomic<bool> tried_{false};
  std::atomic<bool> opening_begun_{false};
  MetMemory met_;  // memory of operands of calls on the device
  enum class Readiness : std::uint8_t { cold, in_preparation, ready };
  std::array<std::atomic<Readiness>, operation::max_routines> readiness_{};  // by routine
  std::atomic<int> in_background_{0};  // threads that open the device or make it ready
  std::atomic<bool> unwanted_{false};  // these threads are to stop, since the process ends
  std::atomic<int> calls_in_flight_{0};
  std::atomic<std::chrono::steady_clock::time_point> description_due_;
  std::atomic<bool> first_call_over_{false};
  std::atomic<bool> waited_{false};  // the end of the process has waited for calls in flight
  std::string failure_;              // why there is no device context
};

/// A call whose blas::volume() is below this goes straight to the original: Decider::floor_volume(). Minus infinity,
/// below which no call is, until the settings have been read. If small calls are followed one by one, because they are
/// logged or take the time of a device's own clock, followed_floor_volume has the value and floor_volume stays at minus
/// infinity.
extern std::atomic<double> floor_volume;
extern std::atomic<double> followed_floor_volume;

}  // namespace blastoff::runtime
