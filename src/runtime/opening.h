// When the device is opened, and made ready for a routine. Opening a GPU takes half a second, and loading the kernels
// of a routine some hundredths. Threads of ours do it: the CPU computes meanwhile, and a program that ends soon never
// pays.
#pragma once

#include <atomic>

#include "config/settings.h"
#include "operation/operation.h"

namespace blastoff::runtime {

/// The rule. Thread-safe; takes no lock.
class Opening {
 public:
  /// `cpu_flops`: operations per second that no CPU of this machine exceeds.
  Opening(config::StartMode mode, double cpu_flops) : mode_(mode), cpu_flops_(cpu_flops) {}

  enum class Answer : std::uint8_t {
    not_yet,        ///< the CPU makes this call
    in_background,  ///< likewise, and the device is to be opened meanwhile
    now,            ///< this call waits for the device: the CPU would take longer than opening
  };
  Answer answer(const operation::Operation& operation) const {
    const double least = operation.work.flops / cpu_flops_;
    if (mode_ == config::StartMode::now || least > seconds_to_open) return Answer::now;
    return spent_.load(std::memory_order_relaxed) + least < worth_opening ? Answer::not_yet : Answer::in_background;
  }

  /// Whether a call waits until the kernels of its routine are loaded, rather than leaving it to the CPU meanwhile.
  bool waits_for_kernels(const operation::Operation& operation) const {
    return mode_ == config::StartMode::now || operation.work.flops / cpu_flops_ > seconds_to_load;
  }

  /// The CPU has made a call for which the device was not open yet.
  void add_spent(double seconds) { spent_.fetch_add(seconds, std::memory_order_relaxed); }

  /// Of a GPU and its libraries.
  static constexpr double seconds_to_open = 0.5;
  /// Of the kernels of a routine.
  static constexpr double seconds_to_load = 0.06;
  /// Seconds that the CPU has spent on calls for the device. Half of what opening costs: a program that gets so far may
  /// well go on, and short ones are those that would lose most.
  static constexpr double worth_opening = 0.25;

 private:
  const config::StartMode mode_;
  const double cpu_flops_;
  std::atomic<double> spent_{0};
};

}  // namespace blastoff::runtime
