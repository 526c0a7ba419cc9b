// When the device is opened, and made ready for a routine. Opening a GPU takes a third of a second, and loading the
// kernels of a routine some hundredths. A program that ends soon should not pay for that. Blastoff's threads do it
// while the CPU computes, even if the program leaves no core idle: the two slow each other, but the program loses less
// than if it waited. On 16 cores beside an H100, opening took 0.35 s alone, and 0.45 to 0.55 s beside products on all
// cores, which lost 0.17 to 0.25 s meanwhile. So a call that the CPU can make in twice the opening time does not wait.
//
// Opening is work for a core. If the ranks of a job leave no core idle, each rank that opens the device falls behind,
// and the others wait for it. The openings come one after the other, so the job loses their sum.
// For calls that one rank makes for all, one rank opens the device.
#pragma once

#include <algorithm>
#include <atomic>

#include "config/settings.h"
#include "decide/machine_model.h"

namespace blastoff::runtime {

/// Calls that the CPU has made, and their times in seconds.
struct SpentOnCpu {
  double seconds = 0;    ///< of wall time
  double flops = 0;      ///< floating-point operations
  double on_device = 0;  ///< seconds that the open device is expected to take for them
};

/// What opening the device and closing it at the end costs, in seconds.
struct OpeningPrice {
  double own = 0;  ///< what the process that opens it waits
  double job = 0;  ///< what the job loses if its ranks leave no core idle
};

/// The rule for opening the device. Thread-safe; takes no lock.
class OpenPolicy {
 public:
  /// `ranks`: how many ranks of the job are on this node.
  explicit OpenPolicy(config::StartMode mode, int ranks = 1)
      : mode_(mode), burden_(std::max(1.0, lost_share * ranks)) {}

  enum class Answer : std::uint8_t {
    not_yet,        ///< the CPU makes this call
    in_background,  ///< the CPU makes this call, and the device is to be opened meanwhile
    now,            ///< this call waits for the device
  };
  /// `cpu_seconds`: what the CPU needs for the call; a lower limit if that is not known. `cores_are_idle` is asked only
  /// if the answer depends on it.
  template <class Function>
  Answer answer(double cpu_seconds, const Function& cores_are_idle) const {
    if (in_postponed_call_ && !always_waits()) return Answer::not_yet;
    const auto [price, price_of_job] = this->price();
    const double lost_before = lost_before_.load(std::memory_order_relaxed);
    if (always_waits() || cpu_seconds > std::max(worth_waiting * price, lost_before)) return Answer::now;
    if (foresees_gain()) return Answer::in_background;
    const double spent = spent_.load(std::memory_order_relaxed);
    const double lost = spent - on_device_.load(std::memory_order_relaxed);
    const bool due =
        spent >= lost_before && lost >= patience * price && (lost >= patience * price_of_job || cores_are_idle());
    return due ? Answer::in_background : Answer::not_yet;
  }

  /// Whether the device is to be opened for calls that this process makes for all ranks. No call waits for it.
  bool opens_for_all() const {
    return answer(0, [] { return true; }) == Answer::in_background;
  }

  /// Whether every call waits for the device, however long opening takes.
  bool always_waits() const { return mode_ == config::StartMode::now; }

  /// How many seconds a call that waits for the device waits for the turns of other processes. Together with the
  /// opening, that is half of what the CPU needs for the call.
  double longest_queue(double cpu_seconds) const { return std::max(cpu_seconds / worth_waiting - price().own, 0.0); }

  /// Whether a call waits until the kernels of its routine are loaded. Otherwise the CPU makes it meanwhile.
  /// `cpu_seconds` as in answer().
  bool waits_for_kernels(double cpu_seconds) const {
    return always_waits() || cpu_seconds > worth_waiting * seconds_to_load;
  }

  /// The sum of what the calls of this thread have added.
  static SpentOnCpu added_by_this_thread() { return added_; }

  /// While an object lives, this thread makes its part of a call that one rank would make for all if its device were
  /// open. The calls inside it are not counted and open nothing: the whole call tells what the device would gain.
  class PostponedCall {
   public:
    PostponedCall() { in_postponed_call_ = true; }
    ~PostponedCall() { in_postponed_call_ = false; }
    PostponedCall(const PostponedCall&) = delete;
    PostponedCall& operator=(const PostponedCall&) = delete;
  };

  /// The CPU has made a call for which the device was not open yet. `before`: what added_by_this_thread() returned
  /// before the call. Calls inside it (LAPACK's routines call others) have added their part already.
  void add_spent(SpentOnCpu call, SpentOnCpu before) {
    if (in_postponed_call_) return;
    const double seconds = std::max(0.0, call.seconds - (added_.seconds - before.seconds));
    // The calls inside it made the rest of its operations.
    const double own = call.seconds > 0 ? seconds / call.seconds : 0;
    const double flops = own * call.flops;
    const double on_device = own * call.on_device;
    added_ = {added_.seconds + seconds, added_.flops + flops, added_.on_device + on_device};
    spent_.fetch_add(seconds, std::memory_order_relaxed);
    if (call.flops > 0) spent_on_known_work_.fetch_add(seconds, std::memory_order_relaxed);
    flops_.fetch_add(flops, std::memory_order_relaxed);
    on_device_.fetch_add(on_device, std::memory_order_relaxed);
  }

  /// The sum over all calls whose number of operations is known.
  SpentOnCpu spent() const { return {spent_on_known_work_.load(), flops_.load(), on_device_.load()}; }

  /// `seconds`: what opening and closing take on this machine, by its model.
  void expect(double seconds) { price_.store(seconds, std::memory_order_relaxed); }
  OpeningPrice price() const {
    const double own = price_.load(std::memory_order_relaxed);
    return {own, burden_ * own};
  }

  /// What earlier runs of the program predict for this one.
  enum class Foresight : std::uint8_t {
    gains,  ///< the device gains clearly more than opening it takes: it is opened at the first call, or before
    loses,  ///< the device gains less: it is opened once this run has clearly computed for longer than the earlier one
  };
  /// `cpu_seconds`: what the calls of an earlier run take on the CPU.
  void foresee(Foresight foresight, double cpu_seconds) {
    foreseen_gain_.store(foresight == Foresight::gains, std::memory_order_relaxed);
    if (foresight == Foresight::loses) lost_before_.store(scatter * cpu_seconds, std::memory_order_relaxed);
  }
  bool foresees_gain() const { return foreseen_gain_.load(std::memory_order_relaxed); }

  /// Times of equal runs differ by up to this factor.
  static constexpr double scatter = 1.25;

  /// Seconds to load the kernels of a routine.
  static constexpr double seconds_to_load = 0.06;
  /// Seconds to load the kernels of a singular value decomposition, which needs those of factorizations and products,
  /// too. On an H200, the first one took 140 to 160 ms more than later ones.
  static constexpr double seconds_to_load_svd = 0.12;
  /// Seconds that the first call takes besides, whatever its routine. On an H200, first calls took 70 to 110 ms more
  /// than later ones.
  static constexpr double seconds_to_begin = 0.03;
  /// The device is opened when the CPU has lost this share of the price of opening, compared with an open device. A
  /// program that has run so far may well run as long again; short programs would lose most by opening.
  static constexpr double patience = 0.75;
  /// If a process uses at most this share of its cores, opening the device meanwhile costs it nothing.
  static constexpr double max_busy = 0.75;
  /// The share of an opening that a job loses if its ranks leave no core idle. On 16 cores beside an H100, 16 ranks
  /// that wait for each other in each product lost 0.6 to 0.8. Ranks that seldom wait for each other lose less.
  static constexpr double lost_share = 0.5;
  /// A call waits only if the CPU needs more than this many times the wait.
  static constexpr double worth_waiting = 2;

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local SpentOnCpu added_{};
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local bool in_postponed_call_ = false;

  const config::StartMode mode_;
  const double burden_;  ///< price of the job divided by that of one process
  std::atomic<double> price_{decide::MachineModel::assumed_open_seconds + decide::MachineModel::assumed_close_seconds};
  std::atomic<double> spent_{0};
  std::atomic<double> spent_on_known_work_{0};
  std::atomic<double> flops_{0};
  std::atomic<double> on_device_{0};
  std::atomic<bool> foreseen_gain_{false};
  std::atomic<double> lost_before_{0};  ///< the device is not opened until the CPU has spent this many seconds
};

}  // namespace blastoff::runtime
