// Counts calls while the program runs. Callable from any thread at any time; no locks on the path of small calls.
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

  RoutineTotals& operator+=(const RoutineTotals& other) {
#define BLASTOFF_ADD(name, ...) name += other.name;
    BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
    return *this;
  }

  /// Floating-point operations, each counted once. Unlike `flops`, they do not change if the device makes a whole call
  /// of LAPACK, whose products the CPU would have made as calls.
  double own_flops() const {
    return flops - inner_flops;
  }
};

struct Verification {
  BLASTOFF_VERIFICATION_COUNTERS(BLASTOFF_FIELD)
};
#undef BLASTOFF_FIELD

/// Classes of the average size, which is the cube root of Work::volume: from 1 on, in steps of a factor of sqrt(2).
inline constexpr std::size_t size_classes = 36;
std::size_t size_class(double volume);
/// The smallest average size of a class.
double min_size(std::size_t size_class);

/// Sums over the calls of one class of sizes. For small calls, their number and time are estimates.
struct SizeTotals {
  std::uint64_t calls = 0;
  std::uint64_t offloaded = 0;
  double cpu_seconds = 0;
  double device_seconds = 0;
};

struct Totals {
  std::vector<RoutineTotals> routines;                  ///< indexed by operation::RoutineId
  std::array<std::uint64_t, refusal_count> refusals{};  ///< indexed by Refusal
  std::array<std::uint64_t, refusal_count> followed{};  ///< of these, the calls that another rank counts for the job
  std::array<SizeTotals, size_classes> sizes{};         ///< indexed by size_class()
  Verification verification;
  /// The largest volume of small calls that were timed: all calls from 64^3 on, one in 64 of the others.
  double largest_small_volume = 0;
  double small_seconds = 0;      ///< estimated time on the path of small calls, summed over threads
  std::uint64_t first_call = 0;  ///< boot_nanoseconds() when the first timed call began; 0: there was none
  std::uint64_t last_call = 0;   ///< boot_nanoseconds() when the last call ended
  /// The CPU's time for the calls of each thread, as far as it was measured: the largest over all threads. A run on the
  /// CPU alone spends at least that time in calls.
  double busiest_cpu_seconds = 0;
};

/// Adds a record to the sums of its routine, without its verification.
void count_in(RoutineTotals& sums, const Record& record);

/// Adds a record to this thread's counters.
void add(const Record& record);

/// A call that stayed on the CPU for the reason `refusal`. It was neither timed nor looked at; its times are those of
/// calls like it.
struct UntimedCall {
  operation::RoutineId routine{};
  Refusal refusal{};
  double seconds = 0;  ///< of calls like it
  double wall_seconds = 0;
  double flops = 0;
  std::size_t size_class = 0;
};
void add_untimed(const UntimedCall& call);

/// The path of small calls, which stay on the CPU because they are below the threshold. `volume` is Work::volume.
/// begin_small() decides whether the call is timed. Below 64^3, where reading the clock twice would be noticeable, it
/// chooses one call in 64 at random, which stands for 64 calls. end_small() counts the call, without the calls inside
/// it. Together they take a few nanoseconds for a call that is not timed. `always`: every call is timed, and stands for
/// itself.
struct SmallCall {
  std::uint32_t weight = 0;    ///< number of calls for which this time counts; 0: not timed
  double volume = 0;           ///< of a timed call
  std::uint64_t start = 0;     ///< nanoseconds
  double recorded_before = 0;  ///< recorded_seconds()
};
SmallCall begin_small(double volume, bool always = false);
/// Counts a call that is about to be made, and returns true, if begin_small() would not choose it. Else begin_small()
/// is to be called.
bool count_untimed_small(operation::RoutineId routine, double volume, double flops);
void end_small(operation::RoutineId routine, const void* caller, const SmallCall& small, double flops);
/// The same if the caller knows how long the call took, with the calls inside it.
void end_small(operation::RoutineId routine, const void* caller, const SmallCall& small, double flops, double elapsed);

/// The time of all calls that this thread has recorded. Its growth during a call was spent in other calls inside that
/// call, and must not count again.
double recorded_seconds();

/// The time of a call that took `elapsed` seconds, without the calls inside it. `recorded_before` is recorded_seconds()
/// when the call began. Returns 0 if the calls inside it add up to more than `elapsed`, as they may: timed small calls
/// stand for others.
double own_seconds(double elapsed, double recorded_before);

/// With a device that has a clock of its own (--simulated-rates), the seconds by which the time that counts is ahead of
/// real time: for this thread, and for the thread that is furthest ahead. 0 without such a device.
double seconds_ahead();
void set_seconds_ahead(double seconds);
double max_seconds_ahead();

/// Sums over all threads up to now.
Totals totals();

/// Resets all counters, for the child of a fork.
void reset();

}  // namespace blastoff::report
