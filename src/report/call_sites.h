// Where calls come from: the sums for each place of the program, routine, and line of Python.
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

/// The calls of one routine from one place.
struct CallSite {
  operation::RoutineId routine{};
  std::string object;        ///< path of the object that called; "" for the program
  std::uint64_t offset = 0;  ///< of the return address, relative to the object's base address as linked
  std::string python;        ///< "path:line in function"; "" if it is not known
  int threads = 0;           ///< number of threads that called, at least
  double volume = 0;         ///< sum of Work::volume
  RoutineTotals sums;
  std::array<std::uint64_t, refusal_count> refusals{};
};

/// Counts a call that is over. Looking up lines of Python takes a quarter of a percent of the time that a thread spends
/// in calls: a short call counts for the line that was found last. A call inside another counts for the other's line.
void add_to_call_site(const Record& record);

/// A number of alike calls, of which only one was looked at.
struct SampledCalls {
  std::uint32_t count = 0;
  double seconds = 0;  ///< of each call
  double flops = 0;
  double volume = 0;
};

/// Counts calls that stayed on the CPU for the reason `refusal`.
void add_to_call_site(const void* caller, operation::RoutineId routine, Refusal refusal, const SampledCalls& calls);

/// The call sites of this process, beginning with those that took most time.
std::vector<CallSite> call_sites();

/// The call sites that a process keeps beside its counters. `path`: the counter file.
std::vector<CallSite> call_sites_of_file(const std::string& path);

/// For the child of a fork: begins anew. Makes no system call and takes no memory.
void forget_call_sites();

}  // namespace blastoff::report
