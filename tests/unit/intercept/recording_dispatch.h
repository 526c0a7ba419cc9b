// Replaces runtime/dispatch.cpp: records the calls of the exported names and forwards each call to its original.
#pragma once

#include "blas/front_end.h"
#include "intercept/dispatch.h"

namespace blastoff::test {

struct Dispatched {
  int calls = 0;
  const intercept::EntryPoint* entry = nullptr;
  bool understood = false;
  int supported = 0;  ///< number of calls that a device could make
  blas::Call call;
  void* original = nullptr;
};
extern Dispatched dispatched;

}  // namespace blastoff::test
