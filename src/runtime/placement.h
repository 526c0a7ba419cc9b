// Where a call runs.
#pragma once

#include <vector>

#include "operation/operation.h"
#include "runtime/device_context.h"

namespace blastoff::runtime {

/// The part that one device computes of a call that several devices compute together.
struct Part {
  DeviceContext* context = nullptr;
  std::vector<operation::Operation> operations;  ///< to be made in this order

  double flops() const {
    double sum = 0;
    for (const operation::Operation& operation : operations) sum += operation.work.flops;
    return sum;
  }
};

/// A call's place: one device, or several at once.
struct Placement {
  DeviceContext* context = nullptr;  ///< runs the whole call; nullptr if no device does
  std::vector<Part> parts;           ///< of a split call, one for each device; else empty
};

}  // namespace blastoff::runtime
