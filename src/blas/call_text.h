// A call's options and sizes in words.
#pragma once

#include <string>

#include "blas/call.h"

namespace blastoff::blas {

/// Option letters and dimensions in the order of the routine's own argument list: "T N m=32 n=2400 k=93536".
std::string call_text(const Call& call);

}  // namespace blastoff::blas
