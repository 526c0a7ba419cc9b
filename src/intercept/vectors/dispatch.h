// make_where_left() receives calls of level 1. runtime/dispatch.cpp defines it.
#pragma once

#include "abi/original_routine.h"
#include "blas/vector_call.h"

namespace blastoff::intercept {

/// A call of level 1 whose vectors may lie in memory that is newest on a device.
struct VectorsCalled {
  const blas::VectorCall& call;
  abi::HostFunction original;
  const char* symbol = "";       ///< the name that the program called
  const void* caller = nullptr;  ///< return address of the call
};

/// Makes the call, if a device alone has a part of the vectors. False: nothing has been done.
bool make_where_left(const VectorsCalled& called);

}  // namespace blastoff::intercept
