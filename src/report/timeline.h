// When calls ran, for the report. Holds the longest calls of a process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "operation/operation.h"
#include "report/record.h"

namespace blastoff::report {

/// One call.
struct TimedCall {
  double start = 0;  ///< seconds since the start that keep_timeline() was given
  double seconds = 0;
  double transfer_seconds = 0;  ///< part of `seconds` in which the call only waited for data
  operation::RoutineId routine{};
  bool on_device = false;
  int thread = 0;     ///< its number in the system
  double volume = 0;  ///< Work::volume
};

struct Timeline {
  double shortest = 0;  ///< seconds: shorter calls are left out
  std::vector<TimedCall> calls;
};

/// Begins the timeline, which holds at most `most` calls.
void keep_timeline(std::size_t most, std::chrono::steady_clock::time_point start);

/// Whether a call that took so many seconds is to be added.
bool belongs_to_timeline(double seconds);

/// Adds a call that is over. Takes a lock and memory, so no handler that never returns may interrupt it.
void add_to_timeline(const Record& record);

/// The calls in the order in which they began.
Timeline timeline();

/// For the child of a fork: the child keeps no timeline.
void forget_timeline();

}  // namespace blastoff::report
