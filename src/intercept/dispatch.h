// Where every intercepted call goes next. Whoever uses this module defines dispatch() (runtime/dispatch.cpp).
#pragma once

#include "abi/entry_point.h"
#include "blas/call.h"
#include "intercept/original.h"

namespace blastoff::intercept {

/// Calls an original with exactly the arguments that the program passed.
struct RawArguments {
  void (*invoke)(const void* self, void* original);
  const void* self;
  void operator()(void* original) const { invoke(self, original); }
};

/// An intercepted call on its way.
struct Visit {
  const abi::EntryPoint& entry;
  const Original& original;  ///< what would have run
  const void* caller;        ///< see host_routine()
  const RawArguments& raw;
};

/// Called by intercept/ for every intercepted call, on the program's thread. `call` is nullptr where the arguments
/// cannot be understood (an unknown option letter): the original reports that. Returns when the program may see the
/// result.
void dispatch(const Visit& visit, const blas::Call* call);

}  // namespace blastoff::intercept
