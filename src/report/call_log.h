// The line per call of --log calls.
#pragma once

#include <string>

#include "operation/operation.h"
#include "report/record.h"

namespace blastoff::report {

/// For example "dgemm_ T N m=32 n=2400 k=93536: device (first-use), 842 us (110 us waiting for data), 614 kB back,
/// 1.82 GB reused". `operation` is nullptr where the arguments were not understood.
std::string call_line(const Record& record, const operation::Operation* operation);

/// Prints it.
void log_call(const Record& record, const operation::Operation* operation);

}  // namespace blastoff::report
