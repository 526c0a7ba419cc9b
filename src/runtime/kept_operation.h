// An operation that is still looked at after its call has returned.
#pragma once

#include <memory>

#include "fft/plan.h"
#include "operation/operation.h"

namespace blastoff::runtime {

/// The plan of a transform may end with the call, so it is copied. The matrices may be gone.
class KeptOperation {
 public:
  explicit KeptOperation(const operation::Operation& operation);
  const operation::Operation& operator*() const { return operation_; }

 private:
  std::shared_ptr<const fft::Plan> plan_;  // nullptr: it is no transform
  operation::Operation operation_;
};

}  // namespace blastoff::runtime
