// Tries again what did not pay, ever more rarely.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace blastoff::platform {

/// Pauses between trials, in calls. The pause grows by a factor after each failure.
struct Pauses {
  std::int64_t first = 64;
  std::int64_t max = 4096;
  std::int64_t growth = 2;
};

/// Counts calls between trials. A failed trial is followed by a pause, which is longer after each failure. Takes no
/// lock. Thread-safe, except for copying; a race costs a trial.
class Backoff {
 public:
  Backoff() = default;
  explicit Backoff(const Pauses& pauses) : pauses_(pauses) {}
  Backoff(const Backoff& other) { *this = other; }
  Backoff& operator=(const Backoff& other) {
    if (this == &other) return *this;
    pauses_ = other.pauses_;
    left_.store(other.left_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    pause_.store(other.pause_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }
  ~Backoff() = default;

  /// Whether the next call may be a trial.
  bool is_over() const { return left_.load(std::memory_order_relaxed) <= 0; }
  /// So many calls of the pause are over.
  void count(std::int64_t calls = 1) { left_.fetch_sub(calls, std::memory_order_relaxed); }
  /// Whether the next call may be a trial. Counts the call if it may not.
  bool may_try() { return is_over() || left_.fetch_sub(1, std::memory_order_relaxed) <= 0; }

  /// A trial did not pay. Returns the pause; at least `min_pause` calls pass before the next trial.
  std::int64_t failed(std::int64_t min_pause = 0) {
    const std::int64_t before = pause_.load(std::memory_order_relaxed);
    const std::int64_t pause = std::clamp(pauses_.growth * before, pauses_.first, pauses_.max);
    pause_.store(pause, std::memory_order_relaxed);
    left_.store(std::max(pause, min_pause), std::memory_order_relaxed);
    return pause;
  }
  bool has_failed() const { return pause_.load(std::memory_order_relaxed) > 0; }

  /// The pause begins again, as long as before.
  void restart() { left_.store(pause_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

  /// A trial paid. The pause after the next failure is the first one again.
  void succeeded() {
    left_.store(0, std::memory_order_relaxed);
    pause_.store(0, std::memory_order_relaxed);
  }

 private:
  Pauses pauses_;
  std::atomic<std::int64_t> left_{0};   ///< calls until the pause is over
  std::atomic<std::int64_t> pause_{0};  ///< the latest one
};

}  // namespace blastoff::platform
