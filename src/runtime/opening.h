// When the device is opened, and made ready for a routine. Opening a GPU takes a third of a second, and loading the
// kernels of a routine some hundredths. A program that ends soon is not to pay for that. Threads of ours do it while
// the CPU computes, also where the program leaves no core idle: both at once slow each other, but the program loses
// less than if it waited. On 16 cores beside an H100, opening took 0.35 s alone, and 0.45 to 0.55 s beside products on
// all cores, which lost 0.17 to 0.25 s meanwhile. So no call waits that the CPU can make in twice that time.
#pragma once

#include <algorithm>
#include <atomic>

#include "config/settings.h"
#include "decide/machine_model.h"

namespace blastoff::runtime {

/// What calls took on the CPU.
struct SpentOnCpu {
  double seconds = 0;    ///< of wall time
  double flops = 0;      ///< operations
  double on_device = 0;  ///< that the open device is expected to take for them
};

/// The rule. Thread-safe; takes no lock.
class Opening {
 public:
  explicit Opening(config::StartMode mode) : mode_(mode) {}

  enum class Answer : std::uint8_t {
    not_yet,        ///< the CPU makes this call
    in_background,  ///< likewise, and the device is to be opened meanwhile
    now,            ///< this call waits for the device
  };
  /// `cpu_seconds`: what the CPU needs for the call, as far as is known; at least, where it is not.
  Answer answer(double cpu_seconds) const {
    const double price = price_.load(std::memory_order_relaxed);
    const double lost_before = lost_before_.load(std::memory_order_relaxed);
    if (always_waits() || cpu_seconds > std::max(worth_waiting * price, lost_before)) return Answer::now;
    const double spent = spent_.load(std::memory_order_relaxed);
    const bool due = spent >= lost_before && spent - on_device_.load(std::memory_order_relaxed) >= patience * price;
    return due || foresees_gain() ? Answer::in_background : Answer::not_yet;
  }

  /// Whether any call waits for the device, as long as that takes.
  bool always_waits() const { return mode_ == config::StartMode::now; }

  /// So long a call that waits for the device waits for others to have theirs, in seconds: with the opening, half of
  /// what the CPU needs for it.
  double longest_queue(double cpu_seconds) const { return std::max(cpu_seconds / worth_waiting - price(), 0.0); }

  /// Whether a call waits until the kernels of its routine are loaded, rather than leaving it to the CPU meanwhile.
  /// `cpu_seconds` as above.
  bool waits_for_kernels(double cpu_seconds) const {
    return always_waits() || cpu_seconds > worth_waiting * seconds_to_load;
  }

  /// What calls of this thread have added so far.
  static SpentOnCpu added_by_this_thread() { return added_; }

  /// The CPU has made a call for which the device was not open yet. `before`: what added_by_this_thread() said before
  /// it. Calls that it made meanwhile, as LAPACK's routines do, have added their part.
  void add_spent(SpentOnCpu call, SpentOnCpu before) {
    const double seconds = std::max(0.0, call.seconds - (added_.seconds - before.seconds));
    // Calls inside it made the rest of its operations.
    const double own = call.seconds > 0 ? seconds / call.seconds : 0;
    const double flops = own * call.flops;
    const double on_device = own * call.on_device;
    added_ = {added_.seconds + seconds, added_.flops + flops, added_.on_device + on_device};
    spent_.fetch_add(seconds, std::memory_order_relaxed);
    if (call.flops > 0) spent_on_known_work_.fetch_add(seconds, std::memory_order_relaxed);
    flops_.fetch_add(flops, std::memory_order_relaxed);
    on_device_.fetch_add(on_device, std::memory_order_relaxed);
  }

  /// What all calls have added whose operations are known.
  SpentOnCpu spent() const { return {spent_on_known_work_.load(), flops_.load(), on_device_.load()}; }

  /// What opening takes on this machine, as its model says.
  void expect(double seconds) { price_.store(seconds, std::memory_order_relaxed); }
  double price() const { return price_.load(std::memory_order_relaxed); }

  /// What earlier runs of the program say about this one.
  enum class Foresight : std::uint8_t {
    gains,  ///< the device gains clearly more than opening it takes: it is opened at the first call, or before
    loses,  ///< it gains less: it is opened if this run computes for longer than those
  };
  /// `cpu_seconds`: what the calls of an earlier run take on the CPU.
  void foresee(Foresight foresight, double cpu_seconds) {
    foreseen_gain_.store(foresight == Foresight::gains, std::memory_order_relaxed);
    if (foresight == Foresight::loses) lost_before_.store(scatter * cpu_seconds, std::memory_order_relaxed);
  }
  bool foresees_gain() const { return foreseen_gain_.load(std::memory_order_relaxed); }

  /// The times of equal runs differ by as much.
  static constexpr double scatter = 1.25;

  /// Of the kernels of a routine.
  static constexpr double seconds_to_load = 0.06;
  /// Of a singular value decomposition, which needs those of factorizations and products, too. On an H200, the first
  /// took 140 to 160 ms more than later ones.
  static constexpr double seconds_to_load_svd = 0.12;
  /// Of the first call besides, whatever its routine. On an H200, first calls took 70 to 110 ms more than later ones.
  static constexpr double seconds_to_begin = 0.03;
  /// What the CPU takes longer than the device for the calls before that is opened, over what opening takes. A program
  /// that gets so far may well go on as long; short ones are those that would lose most.
  static constexpr double patience = 0.75;
  /// Share of the cores that a program may use before its first call so that opening the device beside that would cost
  /// it nothing.
  static constexpr double most_busy = 0.75;
  /// A call waits that the CPU makes in no less than so many times what it would wait for.
  static constexpr double worth_waiting = 2;

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local SpentOnCpu added_{};

  const config::StartMode mode_;
  std::atomic<double> price_{decide::MachineModel::assumed_open_seconds};
  std::atomic<double> spent_{0};
  std::atomic<double> spent_on_known_work_{0};
  std::atomic<double> flops_{0};
  std::atomic<double> on_device_{0};
  std::atomic<bool> foreseen_gain_{false};
  std::atomic<double> lost_before_{0};  ///< so many seconds on the CPU were not worth opening
};

}  // namespace blastoff::runtime
