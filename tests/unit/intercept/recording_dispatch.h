// In place of runtime/dispatch.cpp: remembers what the exported names report and hands every call to its original.
#pragma once

#include "blas/front_end.h"
#include "intercept/dispatch.h"

namespace blastoff::test {

struct Dispatched {
  int calls = 0;
  const intercept::EntryPoint* entry = nullptr;
  bool understood = false;
  blas::Call call;
  void* original = nullptr;
};
extern Dispatched dispatched;

}  // namespace blastoff::test
