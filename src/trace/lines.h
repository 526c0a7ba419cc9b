// Writes the lines of a trace, which are JSON objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operation/operation.h"
#include "report/recorder.h"
#include "trace/tracer.h"

namespace blastoff::trace {

/// Returns the first line. `method`: how writes are found.
std::string header_line(const Setup& setup, const char* method);

/// Returns the line of a call. `thread`: its number, in the order in which threads made their first calls.
std::string call_line(const Tracer::Call& call, const operation::Operation& operation, int thread,
                      std::optional<double> seconds, double elapsed);

/// Returns the last line.
std::string end_line(const report::Totals& totals, double elapsed);

}  // namespace blastoff::trace
