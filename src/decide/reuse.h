// Whether operands that are uploaded to the device are reused there.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace blastoff::decide {

/// Admits calls to the device in trials of a few calls. If a trial reuses at least as many bytes as it uploads, the
/// next trial follows at once. Otherwise there is a pause, which doubles after each failed trial. Thread-safe.
class Reuse {
 public:
  /// Whether the next call may be tried; if not, counts it towards the end of the pause.
  bool may_try();

  /// Learns how many bytes a call of a trial uploaded (`brought`) and reused (`found`).
  void learn(std::uint64_t brought, std::uint64_t found);

 private:
  static constexpr int first_trial = 8;
  static constexpr int later_trial = 2;
  static constexpr std::int64_t first_pause = 64;
  static constexpr std::int64_t longest_pause = 4096;

  std::atomic<std::int64_t> calls_to_pause_{0};
  std::mutex mutex_;
  int calls_to_try_ = first_trial;
  std::int64_t next_pause_ = first_pause;
  std::uint64_t brought_ = 0;
  std::uint64_t found_ = 0;
};

}  // namespace blastoff::decide
