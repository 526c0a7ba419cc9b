// The line that --log calls prints for each call.
#pragma once

#include <chrono>
#include <string>

#include "operation/operation.h"
#include "report/record.h"

namespace blastoff::report {

/// For example "dgemm_ T N m=32 n=2400 k=93536: device (first-use), 842 us (110 us waiting for data), 614 kB back, 1.82
/// GB reused". `operation` is nullptr if the arguments were not understood.
std::string call_line(const Record& record, const operation::Operation* operation);

/// Where the lines go.
struct CallLog {
  std::string file;  ///< a pattern as for write_report(); "": stderr
  int rank = -1;     ///< -1: no MPI
  std::chrono::steady_clock::time_point start;
};

/// Switches the line per call on (--log calls). Called once.
void log_calls(const CallLog& log);
bool logs_calls();

/// Prints the line, if calls are logged, after process, rank, and the seconds since the start: "4711 rank 3 12.345678
/// s: ". Signal handlers are held back meanwhile: making the line allocates memory, and a handler may allocate, too.
void log_call(const Record& record, const operation::Operation* operation);

/// Seconds that this thread has spent on such lines so far. They count in no call.
double seconds_of_logging();

}  // namespace blastoff::report
