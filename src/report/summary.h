// What the JSON report and the printed summary have in common.
#pragma once

#include "report/recorder.h"

namespace blastoff::report {

/// All routines together.
RoutineTotals sum_over_routines(const Totals& totals);

/// Reuse: how many times devices have read a byte of a matrix, on average, for each time that it came to them, whether
/// it was copied, moved, or read where it lay for the first time. 0 where they have read none.
double operand_reuse(const RoutineTotals& sums);

}  // namespace blastoff::report
