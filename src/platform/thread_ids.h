// Ids of threads of this process.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace blastoff::platform {

/// Whether no thread of this process has this id. In a forked child, the threads of its parent are gone.
inline bool is_gone(pid_t thread) {
  constexpr int no_signal = 0;
  return syscall(SYS_tgkill, getpid(), thread, no_signal) != 0;
}

/// Takes no lock. If there are more threads than places, some are not in it.
class ThreadIds {
 public:
  /// Takes a free place, or that of a thread that is gone.
  void add(pid_t thread) {
    for (std::atomic<pid_t>& place : places_) {
      pid_t there = place;
      if (there != 0 && !is_gone(there)) continue;
      if (place.compare_exchange_strong(there, thread)) return;
    }
  }

  void remove(pid_t thread) {
    for (std::atomic<pid_t>& place : places_) {
      pid_t there = thread;
      if (place.compare_exchange_strong(there, 0)) return;
    }
  }

  bool contains(pid_t thread) const {
    return std::any_of(places_.begin(), places_.end(), [&](const auto& place) { return place == thread; });
  }

  auto begin() const { return places_.begin(); }
  auto end() const { return places_.end(); }

 private:
  std::array<std::atomic<pid_t>, 1024> places_{};  ///< 0: free
};

}  // namespace blastoff::platform
