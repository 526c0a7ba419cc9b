// What the JSON report and the printed summary have in common.
#pragma once

#include "report/recorder.h"

namespace blastoff::report {

/// All routines together.
RoutineTotals sum_over_routines(const Totals& totals);

}  // namespace blastoff::report
