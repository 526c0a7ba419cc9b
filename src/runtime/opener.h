// Opens the devices: ahead of the first call, for a call, or by one of Blastoff's threads. runtime/open_policy.h has
// the rule.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "config/settings.h"
#include "device/simulated/clock.h"
#include "operation/front_end.h"
#include "operation/operation.h"
#include "platform/span.h"
#include "report/context.h"
#include "report/recorder.h"
#include "runtime/device_set.h"
#include "runtime/earlier_rates.h"
#include "runtime/models.h"
#include "runtime/open_policy.h"
#include "runtime/run_history.h"

namespace blastoff::runtime {

/// The devices of the process, and when they are opened: by the rule, by what earlier runs tell, and by which thread.
/// Thread-safe. Must outlive the process's threads.
class Opener {
 public:
  /// All must outlive this. `rates`: of the simulated device's own clock. `changed` is called, with the lock held, when
  /// the devices have been opened.
  Opener(const config::Settings& settings, const std::optional<device::simulated::Rates>& rates, OpenPolicy& policy,
         Models& models, std::function<void()> changed);

  /// The open devices; nullptr if there are none.
  DeviceSet* devices() const { return devices_; }
  /// Whether the devices have been opened, or cannot be.
  bool tried() const { return tried_; }
  /// Why no call may use the device now, as far as that can be told at no cost.
  report::Refusal refusal() const;

  /// Opens the device beside what the program does before its first call, if the device gained in earlier runs.
  void open_as_foreseen();
  /// To be called at each call that is worth the device: notes when the first one came.
  void note_call() {
    if (!first_call_noted_.load(std::memory_order_relaxed)) note_first_call();
  }
  /// Opens the devices for a call, as the policy decides. Returns whether they have been opened, or cannot be.
  /// `together`: as for Process::place().
  bool open_for(const operation::Operation& operation, std::optional<double> together);
  /// Opens the devices at once.
  void open_now();
  /// Whether the call's routine may be used on the device; if not, it is being made ready.
  bool ready_for(const operation::Operation& operation, std::optional<double> together);

  /// Opens the device beside the program, for calls that this process makes for all ranks, if it is time. `memory`:
  /// what such calls use of the memory that the ranks share.
  void open_beside_for_all(const operation::Operation& operation, platform::Span memory);
  /// Page-locks such memory beside the program, for calls to come.
  void lock_beside(platform::Span memory);
  /// This process has made a call for all ranks, or would make the next one like it.
  void add_made_for_all(double flops) { flops_for_all_.fetch_add(flops, std::memory_order_relaxed); }

  /// Whether Blastoff's threads are opening the device or making it ready, beside the program. A thread that waits for
  /// its turn disturbs nobody.
  bool opens_beside() const {
    return in_background_.load(std::memory_order_relaxed) > waiting_in_background_.load(std::memory_order_relaxed);
  }
  /// Whether the device is open, and other ranks are on this node: while they wait for theirs, they leave the cores to
  /// this one.
  bool is_open_among_ranks() const { return among_ranks_ && devices_.load(std::memory_order_relaxed) != nullptr; }
  /// Tells these threads to give up, and waits for them for a limited time. Returns false if one has not ended. They
  /// may begin anew afterwards.
  bool end_threads();
  /// The same at the end of the process: no thread begins anew.
  void end_threads_for_good();
  /// Seconds that end_threads() has waited.
  double seconds_waited() const { return seconds_waited_; }

  /// From now on the main thread, when it ends, waits for these threads.
  static void guard_main_thread();

  /// Holds what the following functions return as it is.
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  /// Why there is no device; "" if there is one, or if nobody has tried.
  const std::string& failure() const { return failure_; }
  /// When the devices were opened, and how long that took.
  std::optional<report::DeviceOpening> opening() const { return tried_ ? opening_ : std::nullopt; }

  /// Keeps the times of this run for the next run of the same command.
  void keep_times(const report::Totals& totals, const report::Context& context) const;
  /// Keeps what the CPU took for this run's calls, for the next run of the same command, whatever device it has; for
  /// the whole run, if no device took part in it.
  void keep_rates(const report::Totals& totals, const report::Context& context);
  /// Earlier runs on the CPU, if some are known.
  std::optional<report::EarlierRun> cpu_run() const;

 private:
  /// A process that hangs must not hold up this one. The longest wait for its turn: while a call waits, and in the
  /// background.
  static constexpr std::chrono::seconds longest_turn_of_others{10};
  static constexpr std::chrono::seconds longest_turn_in_background{60};
  /// The longest wait for the threads at the end.
  static constexpr std::chrono::seconds longest_wait{10};

  /// A moment of the process; at first, its begin.
  struct Moment {
    double age = 0;          ///< seconds since the library was loaded
    double cpu_seconds = 0;  ///< used by all threads
  };
  enum class Readiness : std::uint8_t { cold, in_preparation, ready };

  bool is_unwanted() const;
  bool start_in_turn(const operation::Operation* first, std::chrono::duration<double> longest);
  void start_in_turn_or_late(const operation::Operation* first, std::chrono::seconds longest);
  void start_devices(const operation::Operation* first);
  void find_devices(const operation::Operation* first);
  void recall_earlier_runs();
  void recall_earlier_rates();
  std::optional<report::EarlierRun> as_cpu_run(const report::Totals& totals, const report::Context& context) const;
  void note_first_call();
  static double age();
  static bool has_left_cores_idle(const Moment& since);
  bool open_in_background(const operation::Operation& operation, platform::Span memory = {});
  void lock_memory(platform::Span memory);
  /// Runs `body` on a thread. That thread calls `failed` if `body` ran out of memory.
  bool run_in_background(const std::function<void()>& body, const std::function<void()>& failed);

  const config::Settings& settings_;
  const std::optional<device::simulated::Rates>& simulated_rates_;
  OpenPolicy& policy_;
  Models& models_;
  const std::function<void()> changed_;
  const bool among_ranks_;
  std::atomic<double> flops_for_all_{0};
  std::atomic<bool> recalled_{false};
  std::atomic<RunHistory*> run_history_{nullptr};      // set once they have been looked for; never freed
  std::atomic<EarlierRates*> earlier_rates_{nullptr};  // set once they have been looked for; never freed
  std::atomic<bool> opened_ahead_{false};
  std::atomic<bool> first_call_noted_{false};  // the first call that is worth the device
  std::atomic<double> first_call_age_{0};      // Moment of that call
  std::atomic<double> first_call_cpu_{0};
  std::atomic<double> lead_{0};  // RunTimes::lead of this run alone
  std::mutex turn_mutex_;        // held in the process's turn; taken before mutex_
  std::mutex mutex_;
  std::atomic<DeviceSet*> devices_{nullptr};
  std::optional<report::DeviceOpening> opening_;  // written before tried_ is set
  std::atomic<bool> tried_{false};
  std::atomic<bool> opening_begun_{false};
  std::array<std::atomic<Readiness>, operation::max_routines> readiness_{};  // by routine
  std::atomic<int> in_background_{0};          // threads that open the device or make it ready
  std::atomic<int> waiting_in_background_{0};  // those of them that wait for their turn
  std::atomic<bool> unwanted_{false};          // these threads are to stop, since the process ends
  std::atomic<double> seconds_waited_{0};
  std::string failure_;  // why there is no device context
};

}  // namespace blastoff::runtime
