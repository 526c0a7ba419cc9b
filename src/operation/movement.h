// Operations that move numbers, as an exchange of rows does, or look at each once, as a norm does.
#pragma once

#include "operation/operation.h"

namespace blastoff::operation {

/// Such an operation gains nothing on a device but the way of its matrices: it belongs where they are.
inline bool belongs_to_matrix(const Operation& operation) {
  return operation.work.memory_bound && operation.work.flops == 0;
}

}  // namespace blastoff::operation
