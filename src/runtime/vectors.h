// Calls of level 1 whose vectors lie in memory that is newest on the device.
#pragma once

#include "intercept/vectors/dispatch.h"

namespace blastoff::runtime {

/// Makes such a call there, so that the memory need not come home for it. False: nothing has been done.
bool make_vectors_there(const intercept::VectorsCalled& called);

}  // namespace blastoff::runtime
