// Counts calls while the program runs. Any thread, any time, no locks on the small-call path.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "operation/operation.h"
#include "report/counters.def"
#include "report/record.h"

namespace blastoff::report {

#define BLASTOFF_FIELD(name, type, ...) type name{};
/// Sums over the calls of one routine.
struct RoutineTotals {
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_FIELD)
};

struct Verification {
  BLASTOFF_VERIFICATION_COUNTERS(BLASTOFF_FIELD)
};
#undef BLASTOFF_FIELD

struct Totals {
  std::vector<RoutineTotals> routines;                  ///< indexed by operation::RoutineId
  std::array<std::uint64_t, refusal_count> refusals{};  ///< indexed by Refusal
  Verification verification;
};

/// Adds a record. Logs it too where --log calls asks for it.
void add(const Record& record, const operation::Operation* operation);

/// The small-call path: a call that stays on the CPU for being below the threshold; `volume` is Work::volume.
/// begin_small() decides whether this one is timed: of calls under 64^3, where two looks at the clock would show, one
/// in 64 at random, which then stands for 64. end_small() counts it. Together a few nanoseconds for an untimed call.
struct SmallCall {
  std::uint32_t weight = 0;  ///< calls that this one's time stands for; 0: it is not timed
  std::uint64_t start = 0;   ///< nanoseconds
};
SmallCall begin_small(double volume);
void end_small(operation::RoutineId routine, const SmallCall& small, double flops);

/// Sums of all threads up to now.
Totals totals();

/// Forgets everything counted so far: the child of a fork starts from nothing.
void reset();

/// Switches the line per call on or off (--log calls). While it is on, small calls are to be recorded by add() too: the
/// small-call path logs nothing.
void log_calls(bool on);
bool logs_calls();

}  // namespace blastoff::report
