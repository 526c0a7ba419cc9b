// Matrix products by the CPU, for programs that bring no BLAS: contractions on the host and on simulated devices.
#pragma once

#include "operation/host.h"

namespace blastoff::blocks {

/// gemm in all scalar types, without conjugation.
class Product final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override;
  bool compute(const operation::Operation& operation) const override;
};

}  // namespace blastoff::blocks
