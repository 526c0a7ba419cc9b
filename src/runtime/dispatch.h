// The one road of every call: checks it, decides, runs it on the device or hands it to the original.
#pragma once

#include "abi/entry_point.h"
#include "blas/call.h"
#include "intercept/original.h"

namespace blastoff::runtime {

/// Calls an original with exactly the arguments that the program passed.
struct RawArguments {
  void (*invoke)(const void* self, void* original);
  const void* self;
  void operator()(void* original) const { invoke(self, original); }
};

/// An intercepted call on its way.
struct Visit {
  const abi::EntryPoint& entry;
  const intercept::Original& original;  ///< what would have run
  const void* caller;                   ///< see intercept::host_routine()
  const RawArguments& raw;
};

/// Called by intercept/ for every intercepted call, on the program's thread. `call` is nullptr where the arguments
/// cannot be understood (an unknown option letter): the original reports that. Returns when the program may see the
/// result.
void dispatch(const Visit& visit, const blas::Call* call);

}  // namespace blastoff::runtime
