// The program's own FFTW, which can execute a plan on any arrays of its shape.
#pragma once

#include "operation/host.h"

namespace blastoff::fft {

class HostTransform final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override;

  /// Works on copies with the plan's own layout and alignment: the operands may have other leading dimensions, and the
  /// plan may destroy its input. Does not call the planner, which is not thread-safe.
  bool compute(const operation::Operation& operation) const override;
};

}  // namespace blastoff::fft
