// Where a call runs.
#pragma once

#include <vector>

#include "operation/operation.h"
#include "runtime/session.h"

namespace blastoff::runtime {

/// Of a call that several devices compute together: what one of them does.
struct Part {
  Session* session = nullptr;
  std::vector<operation::Operation> operations;  ///< to be made in this order

  double flops() const {
    double sum = 0;
    for (const operation::Operation& operation : operations) sum += operation.work.flops;
    return sum;
  }
};

/// On one device, or on several at once.
struct Placement {
  Session* session = nullptr;  ///< where it runs as a whole; null: nowhere
  std::vector<Part> parts;     ///< if it is split, for as many devices; else empty
};

}  // namespace blastoff::runtime
