// The one road of every call: checks it, decides, runs it on the device or hands it to the original.
#pragma once

#include "abi/entry_point.h"
#include "blas/call.h"

namespace blastoff::runtime {

/// Calls an original with exactly the arguments that the program passed.
struct RawArguments {
  void (*invoke)(const void* self, void* original);
  const void* self;
  void operator()(void* original) const { invoke(self, original); }
};

/// Called by abi/ for every intercepted call, on the program's thread. `call` is nullptr where the arguments cannot be
/// understood (an unknown option letter): the original reports that. `caller` is the return address into the program.
/// Returns when the program may see the result.
void dispatch(const abi::EntryPoint& entry, const void* caller, const blas::Call* call, const RawArguments& raw);

}  // namespace blastoff::runtime
