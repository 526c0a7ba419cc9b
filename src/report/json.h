// The report as JSON.
#pragma once

#include <string>
#include <vector>

#include "report/call_sites.h"
#include "report/context.h"
#include "report/recorder.h"

namespace blastoff::report {

/// The JSON text (schema: share/report.schema.json).
std::string to_json(const Totals& totals, const Context& context);

/// JSON text of the totals alone.
std::string counts_json(const Totals& totals);

/// What a counter file says about its process.
struct Kept {
  int pid = 0;
  int rank = -1;        ///< -1: no MPI
  bool forked = false;  ///< then `description` is the parent's, or its own if it wrote one at its end
  bool ended = false;   ///< by exit
  int incomplete = 0;   ///< why there was no room for some counters: an errno, or 0
  std::string run;
  std::string program;
  double elapsed_seconds = 0;
  std::uint64_t device_memory = 0;  ///< bytes held at the end, or now
  platform::ResultsFate results;
  std::uint32_t objects = 0;    ///< searched
  std::uint32_t functions = 0;  ///< found in these objects
  std::vector<CallSite> call_sites;
};

/// The report of a process whose counters were kept. `description` is a report that it wrote earlier, or "" if it has
/// written none.
std::string to_json(const Totals& totals, const Kept& kept, const std::string& description);

/// JSON text of a report's "cpu".
std::string cpu_json(const Cpu& cpu);

}  // namespace blastoff::report
