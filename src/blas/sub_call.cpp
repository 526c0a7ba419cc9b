#include "blas/sub_call.h"

#include <array>
#include <complex>
#include <span>

#include "blas/shape.h"

namespace blastoff::blas {
namespace {

/// Returns `part`, whose options and sizes are set, with operands at `addresses` and the leading dimensions of `whole`.
Call with_operands(Call part, const Call& whole, std::span<void* const> addresses) {
  std::array<std::int64_t, 3> leading_dimensions{};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    leading_dimensions[i] = whole.operand_storage[i].leading_dimension;
  }
  shape_operands(part, addresses, {leading_dimensions.data(), addresses.size()});
  return part;
}

/// Returns the gemm that multiplies rows `rows` of op(X) by columns `columns` of op(Y), for operands X and Y of `call`,
/// into its result.
Call product(const Call& call, const Operand& x, const Operand& y, Transpose transpose_y, Range rows, Range columns) {
  Call part = call;
  part.routine = routine_of(Kind::gemm, call.scalar());
  part.uplo = Uplo::upper;
  part.transpose_b = transpose_y;
  part.m = rows.size();
  part.n = columns.size();
  const std::array<void*, 3> addresses{element_address(x, call.transpose_a, rows.begin, 0),
                                       element_address(y, transpose_y, 0, columns.begin),
                                       element_address(call.result(), rows.begin, columns.begin)};
  const std::array<std::int64_t, 3> leading_dimensions{x.leading_dimension, y.leading_dimension,
                                                       call.result().leading_dimension};
  shape_operands(part, addresses, leading_dimensions);
  return part;
}

}  // namespace

Call columns_of(const Call& call, Range columns) {
  Call part = call;
  part.n = columns.size();
  std::array<void*, 3> addresses{};
  for (std::size_t i = 0; i < call.operands().size(); ++i) addresses[i] = call.operands()[i].address;
  if (call.kind() == Kind::gemm) {
    addresses[1] = element_address(call.operands()[1], call.transpose_b, 0, columns.begin);
  } else if (call.operand_count == 3) {
    addresses[1] = element_address(call.operands()[1], 0, columns.begin);
  }
  addresses[static_cast<std::size_t>(call.operand_count) - 1] = element_address(call.result(), 0, columns.begin);
  return with_operands(part, call, {addresses.data(), call.operands().size()});
}

Call rows_of(const Call& call, Range rows) {
  Call part = call;
  part.m = rows.size();
  std::array<void*, 3> addresses{};
  for (std::size_t i = 0; i < call.operands().size(); ++i) addresses[i] = call.operands()[i].address;
  if (call.kind() == Kind::gemm) {
    addresses[0] = element_address(call.operands()[0], call.transpose_a, rows.begin, 0);
  } else if (call.operand_count == 3) {
    addresses[1] = element_address(call.operands()[1], rows.begin, 0);
  }
  addresses[static_cast<std::size_t>(call.operand_count) - 1] = element_address(call.result(), rows.begin, 0);
  return with_operands(part, call, {addresses.data(), call.operands().size()});
}

Call diagonal_square(const Call& call, Range columns) {
  Call part = call;
  part.n = columns.size();
  std::array<void*, 3> addresses{};
  addresses[0] = element_address(call.operands()[0], call.transpose_a, columns.begin, 0);
  if (call.kind() == Kind::gemmt) {
    addresses[1] = element_address(call.operands()[1], call.transpose_b, 0, columns.begin);
  } else if (call.operand_count == 3) {
    addresses[1] = element_address(call.operands()[1], call.transpose_a, columns.begin, 0);
  }
  addresses[static_cast<std::size_t>(call.operand_count) - 1] =
      element_address(call.result(), columns.begin, columns.begin);
  return with_operands(part, call, {addresses.data(), call.operands().size()});
}

std::vector<Call> rectangle(const Call& call, Range rows, Range columns) {
  const Kind kind = call.kind();
  const Operand& a = call.operands()[0];
  if (kind == Kind::gemmt) return {product(call, a, call.operands()[1], call.transpose_b, rows, columns)};
  const bool hermitian = kind == Kind::herk || kind == Kind::her2k;
  const Transpose reversed = hermitian ? Transpose::conjugate : Transpose::transpose;
  const Transpose behind = call.transpose_a == Transpose::none ? reversed : Transpose::none;
  if (kind == Kind::syrk || kind == Kind::herk) return {product(call, a, a, behind, rows, columns)};
  const Operand& b = call.operands()[1];
  Call second = call;
  second.beta = 1;
  if (hermitian) second.alpha = std::conj(call.alpha);
  return {product(call, a, b, behind, rows, columns), product(second, b, a, behind, rows, columns)};
}

}  // namespace blastoff::blas
