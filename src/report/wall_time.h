// Wall time of calls. Threads that are in calls at once share each moment: the parts of all calls add up to the time in
// which at least one thread was in a call. So times that are weighted by these parts may be added up over threads, and
// what came of it is wall time of the process, as far as its threads work for the same end.
#pragma once

#include <cstdint>

namespace blastoff::report {

/// A call that is not small, from its begin on.
struct CallBegin {
  const void* frame = nullptr;  ///< of the function that makes the call
  std::uint64_t moment = 0;     ///< nanoseconds
  std::uint64_t shared = 0;     ///< the clock that all threads share, which stands while no thread is in a call
  std::uint64_t inside = 0;     ///< what calls inside this thread's calls had taken of it
  std::uint64_t apart = 0;      ///< what this thread has done of it that is part of no call
  std::uint64_t recording = 0;  ///< what recording this thread's calls had taken
  std::uint64_t ours = 0;       ///< the same, with all that Blastoff has taken before they were made
  std::uint64_t owed = 0;       ///< what recording calls took since the latest one, to be paid by this one
};

struct CallTime {
  double elapsed = 0;           ///< seconds from its begin
  double wall = 0;              ///< the call's part of them, without those of calls inside it
  double share = 1;             ///< the part of a second of the call, with the calls inside it
  bool whole = true;            ///< there was no call inside it
  double recording_inside = 0;  ///< of its own part, seconds in which calls inside it were recorded
  double ours_inside = 0;       ///< of `elapsed`, all that Blastoff has taken for those
  std::uint64_t ended = 0;      ///< nanoseconds
};

/// `frame`: as in CallBegin. Takes no lock. A program may leave a call for good in between (longjmp): its thread counts
/// as being in a call until it makes the next one, or ends.
CallBegin begin_call(const void* frame);
CallTime end_call(const CallBegin& begin);

/// Blastoff has taken so long before the call was made that has just ended.
void add_ours(double seconds);
/// It has been recorded: from CallTime::ended until now.
void recorded_since(std::uint64_t ended);

/// A call that was not begun, since it was not timed, had such a part.
void count_inside(double wall_seconds);

/// While it lives, what the calling thread does is part of no call that it is in: a line of the log is written.
class ApartFromCalls {
 public:
  ApartFromCalls();
  ~ApartFromCalls();
  ApartFromCalls(const ApartFromCalls&) = delete;
  ApartFromCalls& operator=(const ApartFromCalls&) = delete;

 private:
  std::uint64_t shared_;
};

/// The calling thread ends, or is the only one of a forked child.
void leave_calls();
void forget_calls();

}  // namespace blastoff::report
