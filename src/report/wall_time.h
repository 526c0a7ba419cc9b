// Wall time of calls. Threads that are in calls at the same time share each moment, so the parts of all calls add up to
// the time in which at least one thread was in a call. Times that are weighted by these parts may therefore be added
// over threads: the sum is wall time of the process, as far as its threads work on the same task.
#pragma once

#include <cstdint>

namespace blastoff::report {

/// The begin of a call that is not small.
struct CallBegin {
  const void* frame = nullptr;  ///< of the function that makes the call; tells calls apart
  std::uint64_t moment = 0;     ///< nanoseconds
  std::uint64_t shared = 0;     ///< the clock that all threads share, which stands still while no thread is in a call
  std::uint64_t inside = 0;     ///< its share for calls inside this thread's calls
  std::uint64_t apart = 0;      ///< its share for work of this thread that belongs to no call
  std::uint64_t recording = 0;  ///< what recording this thread's calls had taken
  std::uint64_t ours = 0;       ///< `recording`, and what Blastoff had taken before the calls were made
  std::uint64_t owed = 0;       ///< what recording took since the thread left its latest call; this call pays for it
};

struct CallTime {
  double elapsed = 0;           ///< seconds since the begin of the call
  double wall = 0;              ///< the call's part of the wall time, without calls inside it
  double share = 1;             ///< the call's part of each second, with the calls inside it
  bool whole = true;            ///< there was no call inside it
  bool inside = false;          ///< it was made inside another call of its thread
  double recording_inside = 0;  ///< seconds in which calls inside it were recorded
  double ours_inside = 0;       ///< all seconds that Blastoff has taken for calls inside it, part of `elapsed`
  std::uint64_t ended = 0;      ///< nanoseconds, by the same clock as CallBegin::moment
};

/// `frame`: as in CallBegin. Takes no lock. If a program leaves a call for good by longjmp, its thread counts as being
/// in a call until it makes the next one, or ends.
CallBegin begin_call(const void* frame);
CallTime end_call(const CallBegin& begin);

/// Frame of the outermost call that the calling thread is in. (Initial-exec: one load.)
[[gnu::tls_model("initial-exec")]] extern constinit thread_local const void* outermost_call;

/// Whether the calling thread is in a call that was begun.
inline bool in_call() {
  return outermost_call != nullptr;
}

/// Adds the seconds that Blastoff took before the call that has just ended was made.
void add_ours(double seconds);
/// Adds the time of recording a call, from `ended` (CallTime::ended) until now.
void recorded_since(std::uint64_t ended);

/// Counts a call that was not begun, since it is not timed. `wall_seconds`: its part of the wall time.
void count_inside(double wall_seconds);

/// While an object lives, the calling thread's work counts in none of its calls: it writes a line of the log.
class ApartFromCalls {
 public:
  ApartFromCalls();
  ~ApartFromCalls();
  ApartFromCalls(const ApartFromCalls&) = delete;
  ApartFromCalls& operator=(const ApartFromCalls&) = delete;

 private:
  std::uint64_t shared_;
};

/// leave_calls(): the calling thread ends. forget_calls(): it is the only thread of a forked child.
void leave_calls();
void forget_calls();

}  // namespace blastoff::report
