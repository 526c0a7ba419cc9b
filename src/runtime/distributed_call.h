// The road of a call that all processes of a grid make together: they ask their root, and it or all of them make it.
#pragma once

#include "intercept/dispatch.h"

namespace blastoff::runtime {

/// Shows to the other ranks of the job that this one may take part. To be called when the library is loaded.
void attend_distributed_calls();

/// As intercept::dispatch_distributed().
void make_distributed(const intercept::InterceptedCall& intercepted, const scalapack::Call& call);

}  // namespace blastoff::runtime
