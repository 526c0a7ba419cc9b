// Writes a call's options and sizes as text.
#pragma once

#include <string>

#include "blas/call.h"

namespace blastoff::blas {

/// Returns the option letters and dimensions in the order of the routine's own arguments: "T N m=32 n=2400 k=93536".
std::string call_text(const Call& call);

}  // namespace blastoff::blas
