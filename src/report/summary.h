// What the JSON report and the printed summary have in common.
#pragma once

#include "report/recorder.h"

namespace blastoff::report {

/// All routines together.
RoutineTotals sum_over_routines(const Totals& totals);

/// How many times an uploaded byte was used on the device, on average; 0 without uploads.
double operand_reuse(std::uint64_t bytes_to_device, std::uint64_t bytes_reused);

}  // namespace blastoff::report
