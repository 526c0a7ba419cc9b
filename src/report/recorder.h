// Counts calls while the program runs. Any thread, any time, no locks on the small-call path.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "blas/call.h"
#include "report/record.h"

namespace blastoff::report {

/// Sums over the calls of one routine.
struct RoutineTotals {
  std::uint64_t calls = 0;
  std::uint64_t offloaded = 0;
  double cpu_seconds = 0;
  double device_seconds = 0;
  double transfer_seconds = 0;
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;
  double flops = 0;
  double offloaded_flops = 0;
};

struct Verification {
  std::uint64_t checked = 0;
  double worst_relative_error = 0;
  std::uint64_t stale_pages = 0;
};

struct Totals {
  std::vector<RoutineTotals> routines;              ///< indexed by blas::Routine
  std::array<std::uint64_t, refusal_count> refusals{};  ///< indexed by Refusal
  Verification verification;
};

/// Adds a record. Logs it too where --log calls asks for it.
void add(const Record& record, const blas::Call* call);

/// The small-call path: a call that stays on the CPU for being below the threshold. begin_small() says whether this one is to
/// be timed (calls too small to time each are sampled: one in 64 is timed and stands for 64); end_small() counts it.
/// Together a few nanoseconds for an untimed call.
struct SmallCall {
  bool timed = false;
  std::uint64_t start = 0;  ///< nanoseconds
};
SmallCall begin_small(blas::Routine routine, double volume);
void end_small(blas::Routine routine, const SmallCall& small, double flops);

/// Sums of all threads up to now.
Totals totals();

/// Forgets everything counted so far: the child of a fork starts from nothing.
void reset();

/// Switches the line per call on or off (--log calls).
void log_calls(bool on);

}  // namespace blastoff::report
