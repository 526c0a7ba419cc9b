// Tries again what did not pay, ever more rarely.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace blastoff::platform {

/// Counts calls between trials. A failed trial is followed by a pause, which is twice as long after each failure. Takes
/// no lock. Thread-safe; a race costs a trial.
class Backoff {
 public:
  static constexpr std::int64_t first_pause = 64;  ///< calls
  static constexpr std::int64_t max_pause = 4096;

  Backoff() = default;
  /// `first`: the pause after the first failure.
  explicit Backoff(std::int64_t first) : first_(first) {}

  /// Whether the next call may be a trial. Counts the call if it may not.
  bool may_try() {
    return calls_to_pause_.load(std::memory_order_relaxed) <= 0 ||
           calls_to_pause_.fetch_sub(1, std::memory_order_relaxed) <= 0;
  }

  /// A trial did not pay. At least `min_pause` calls pass before the next one.
  void failed(std::int64_t min_pause = 0) {
    const std::int64_t pause = next_pause_.load(std::memory_order_relaxed);
    next_pause_.store(std::min(2 * pause, max_pause), std::memory_order_relaxed);
    calls_to_pause_.store(std::max(pause, min_pause), std::memory_order_relaxed);
  }

  /// A trial paid. The pause after the next failure is the first one again.
  void succeeded() {
    calls_to_pause_.store(0, std::memory_order_relaxed);
    next_pause_.store(first_, std::memory_order_relaxed);
  }

 private:
  const std::int64_t first_ = first_pause;
  std::atomic<std::int64_t> calls_to_pause_{0};
  std::atomic<std::int64_t> next_pause_{first_};
};

}  // namespace blastoff::platform
