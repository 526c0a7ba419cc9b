#include "report/summary.h"

namespace blastoff::report {

RoutineTotals sum_over_routines(const Totals& totals) {
  RoutineTotals sum;
  for (const RoutineTotals& routine : totals.routines) {
#define BLASTOFF_ADD(name, ...) sum.name += routine.name;
    BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
  }
  return sum;
}

double operand_reuse(std::uint64_t bytes_to_device, std::uint64_t bytes_reused) {
  if (bytes_to_device == 0) return 0;
  return 1 + static_cast<double>(bytes_reused) / static_cast<double>(bytes_to_device);
}

}  // namespace blastoff::report
