#include "report/summary.h"

#include "report/report.h"

namespace blastoff::report {

RoutineTotals sum_over_routines(const Totals& totals) {
  RoutineTotals sum;
  for (const RoutineTotals& routine : totals.routines) {
    sum.calls += routine.calls;
    sum.offloaded += routine.offloaded;
    sum.cpu_seconds += routine.cpu_seconds;
    sum.device_seconds += routine.device_seconds;
    sum.transfer_seconds += routine.transfer_seconds;
    sum.bytes_to_device += routine.bytes_to_device;
    sum.bytes_from_device += routine.bytes_from_device;
    sum.bytes_reused += routine.bytes_reused;
    sum.flops += routine.flops;
    sum.offloaded_flops += routine.offloaded_flops;
  }
  return sum;
}

double operand_reuse(std::uint64_t bytes_to_device, std::uint64_t bytes_reused) {
  if (bytes_to_device == 0) return 0;
  return 1 + static_cast<double>(bytes_reused) / static_cast<double>(bytes_to_device);
}

}  // namespace blastoff::report
