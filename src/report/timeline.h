// When calls ran: the longest ones of a process, for the report.
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
  double start = 0;  ///< seconds since the start that keep_timeline() was told
  double seconds = 0;
  double transfer_seconds = 0;  ///< of that, waiting for data only
  operation::RoutineId routine{};
  bool on_device = false;
  int thread = 0;     ///< as the system numbers it
  double volume = 0;  ///< Work::volume
};

struct Timeline {
  double shortest = 0;  ///< seconds: shorter calls are left out
  std::vector<TimedCall> calls;
};

/// From now on; it holds `most` calls at most.
void keep_timeline(std::size_t most, std::chrono::steady_clock::time_point start);

/// Whether a call that took so many seconds is to be added.
bool belongs_to_timeline(double seconds);

/// A call is over. Takes a lock and memory: not to be interrupted for good.
void add_to_timeline(const Record& record);

/// In the order in which the calls began.
Timeline timeline();

/// For the child of a fork: keeps none.
void forget_timeline();

}  // namespace blastoff::report
