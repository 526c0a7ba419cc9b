// The report as JSON.
#pragma once

#include <string>

#include "report/context.h"
#include "report/recorder.h"

namespace blastoff::report {

/// The JSON text (schema: share/report.schema.json).
std::string to_json(const Totals& totals, const Context& context);

}  // namespace blastoff::report
