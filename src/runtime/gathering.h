// Calls that all processes of a grid make together: decides whether this process makes the call for all of them.
#pragma once

#include "intercept/dispatch.h"

namespace blastoff::runtime {

/// Shows to the other ranks of the job that this one may take part. To be called when the library is loaded.
void attend_distributed_calls();

/// As intercept::dispatch_distributed().
void make_distributed(const intercept::InterceptedCall& intercepted, const scalapack::Call& call);

}  // namespace blastoff::runtime
