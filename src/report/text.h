// The summary at the end of a run.
#pragma once

#include <string>

#include "report/context.h"
#include "report/recorder.h"

namespace blastoff::report {

/// The summary as lines of text.
std::string to_text(const Totals& totals, const Context& context);

}  // namespace blastoff::report
