// Contractions of blocks, where they are.
#pragma once

#include "blas/types.h"
#include "blocks/contraction_plan.h"
#include "blocks/engine.h"

namespace blastoff::blocks {

struct Tensor {
  Block& block;
  TensorShape shape;
};

/// blastoff_block_contract().
Status contract(Engine& engine, blas::Scalar scalar, blas::Coefficient alpha, const Tensor& a, const Tensor& b,
                blas::Coefficient beta, const Tensor& c, int place);

}  // namespace blastoff::blocks
