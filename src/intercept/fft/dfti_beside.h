// MKL's function that tells what its plans and descriptors compute.
#pragma once

#include "fft/dfti.h"

namespace blastoff::intercept {

/// Returns DftiGetValue of the library that has `function`, a function or the trampoline of a patched one; nullptr: the
/// library is not MKL. Takes some nanoseconds if it has been asked for that function before.
fft::DftiGetValue* dfti_beside(const void* function);

}  // namespace blastoff::intercept
