// Whether operands that are uploaded to the device are reused there.
#pragma once

#include <cstdint>
#include <mutex>

#include "platform/backoff.h"

namespace blastoff::decide {

/// Admits calls to the device in trials of a few calls. If a trial reuses at least as many bytes as it uploads, the
/// next trial follows at once, otherwise after a pause (Backoff). Thread-safe.
class Reuse {
 public:
  /// Whether the next call may be tried; if not, counts it towards the end of the pause.
  bool may_try() { return backoff_.may_try(); }

  /// Learns how many bytes a call of a trial uploaded (`brought`) and reused (`found`).
  void learn(std::uint64_t brought, std::uint64_t found) {
    const std::lock_guard lock(mutex_);
    brought_ += brought;
    found_ += found;
    if (--calls_to_try_ > 0) return;
    if (found_ >= brought_) {
      calls_to_try_ = first_trial;
      backoff_.succeeded();
    } else {
      calls_to_try_ = later_trial;
      backoff_.failed();
    }
    brought_ = found_ = 0;
  }

 private:
  static constexpr int first_trial = 8;
  static constexpr int later_trial = 2;

  platform::Backoff backoff_;
  std::mutex mutex_;
  int calls_to_try_ = first_trial;
  std::uint64_t brought_ = 0;
  std::uint64_t found_ = 0;
};

}  // namespace blastoff::decide
