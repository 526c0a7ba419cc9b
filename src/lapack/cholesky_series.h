// A Cholesky factorization as a series of smaller operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operation/operation.h"

namespace blastoff::lapack {

/// Whether the operation is a potrf.
bool is_cholesky(const operation::Operation& operation);

/// Operations that do the same as the potrf `whole`, if they are made in this order: for each block of `order` columns
/// (upper: rows) the update by the blocks before it (syrk or herk, gemm), the factorization of its square on the
/// diagonal (potrf), and the solution for the rest of it (trsm). Each reads the results of earlier ones in host memory.
/// Blocks behind the one at work are as they were, so each element is written twice, however many blocks there are.
std::vector<operation::Operation> cholesky_series(const operation::Operation& whole, std::int64_t order);

/// operation::blocks() for a potrf: the operations of cholesky_series(), which are cut in their turn.
std::vector<std::vector<operation::Operation>> cholesky_blocks(const operation::Operation& whole, std::size_t bytes);

/// `part`, a potrf of a square on the diagonal, has left its INFO in the variable of `whole`. Makes it the INFO of
/// `whole`.
void move_info(const operation::Operation& whole, const operation::Operation& part);

/// The INFO that the operation has left in the program's variable.
std::int64_t info_of(const operation::Operation& operation);

}  // namespace blastoff::lapack
