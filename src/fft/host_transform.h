// The program's own FFTW, able to execute a plan on any arrays of its shape.
#pragma once

#include "operation/host.h"

namespace blastoff::fft {

class HostTransform final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override;

  /// Works on copies that lie as the arrays of the plan did, with the same alignment: the operands may have other
  /// leading dimensions, and the plan may destroy its input. The planner is not asked: it is not thread-safe.
  bool compute(const operation::Operation& operation) const override;
};

}  // namespace blastoff::fft
