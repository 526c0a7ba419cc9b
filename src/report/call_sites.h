// Where calls come from: the sums of each place of the program, routine, and line of Python.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "operation/operation.h"
#include "report/record.h"
#include "report/recorder.h"

namespace blastoff::report {

inline constexpr char call_site_extension[] = ".sites";

/// Calls that were made from one place.
struct CallSite {
  operation::RoutineId routine{};
  std::string object;        ///< path of the object that called; "" for the program
  std::uint64_t offset = 0;  ///< of the return address, as the object was linked
  std::string python;        ///< "path:line in function"; "" where that is not known
  int threads = 0;           ///< that called, at least
  double volume = 0;         ///< sum of Work::volume
  RoutineTotals sums;
  std::array<std::uint64_t, refusal_count> refusals{};
};

/// A call is over. Lines of Python are looked up for about a hundredth of the time that a thread spends in calls: short
/// calls count for the line that was found last.
void add_to_call_site(const Record& record);

/// Calls that are alike, of which one was seen.
struct SampledCalls {
  std::uint32_t count = 0;
  double seconds = 0;  ///< of each
  double flops = 0;
  double volume = 0;
};

/// They stayed on the CPU for that reason.
void add_to_call_site(const void* caller, operation::RoutineId routine, Refusal refusal, const SampledCalls& calls);

/// Those of this process, with the most time first.
std::vector<CallSite> call_sites();

/// Those that a process keeps beside its counters; `path` is that file's.
std::vector<CallSite> call_sites_of_file(const std::string& path);

/// For the child of a fork: begins anew. Makes no system call and takes no memory.
void forget_call_sites();

}  // namespace blastoff::report
