// Prints spans in failed expectations.
#pragma once

#include <ostream>

#include "platform/span.h"

namespace blastoff::platform {

inline void PrintTo(const Span& span, std::ostream* out) {
  *out << std::hex << span.begin << "-" << span.end << std::dec;
}

}  // namespace blastoff::platform
