// Batches: many products of matrices of the same sizes in one call, or many solves with triangular matrices, which are
// called products here, too. The matrices of each operand form a stack, which is one operand for all other modules.
#pragma once

#include <cstdint>
#include <span>

#include "blas/call.h"
#include "blas/element_address.h"

namespace blastoff::blas {

/// The matrices of one operand of a batch.
struct Matrices {
  Operand first;
  std::int64_t stride = 0;  ///< elements from one matrix to the next; 0: all products use the first one
};
Matrices matrices(const Call& batch, std::size_t operand);

/// Turns the operands, which are the matrices of the first product, into stacks. `strides`: elements from the matrix of
/// one product to that of the next, for each operand. All operands stay as they are, and are scattered, if one of them
/// is no stack, or if products share a result. Operands that are not valid() stay as they are.
void stack(Call& batch, std::span<const std::int64_t> strides);
bool is_scattered(const Call& call);

/// Finds out how the matrices lie in these stacks, and makes them the operands. The operands must be the matrices of
/// the first product. Returns false if the shapes do not fit.
bool adopt_stacks(Call& batch, std::span<const Operand> stacks);

/// One of the products, as a gemm or trsm.
Call one_product(const Call& batch, std::int64_t number);
/// A batch of some of the products.
Call some_products(const Call& batch, Range numbers);

}  // namespace blastoff::blas
