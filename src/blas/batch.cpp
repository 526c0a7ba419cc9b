#include "blas/batch.h"

#include <algorithm>
#include <array>
#include <optional>

#include "blas/shape.h"

namespace blastoff::blas {
namespace {

struct Size {
  std::int64_t rows;
  std::int64_t columns;
};

/// The size of the matrix of one product.
Size size_of(const Call& batch, std::size_t operand) {
  if (operand + 1 == batch.operands().size()) return {batch.m, batch.n};
  if (is_solve_batch(batch.kind())) return {batch.k, batch.k};
  const bool of_a = operand == 0;
  const Size factor = of_a ? Size{batch.m, batch.k} : Size{batch.k, batch.n};
  const Transpose transpose = of_a ? batch.transpose_a : batch.transpose_b;
  return transpose == Transpose::none ? factor : Size{factor.columns, factor.rows};
}

/// The stack of `products` matrices that are laid out in that way.
Operand stacked(Operand matrix, Stacking stacking, std::int64_t products, std::int64_t stride) {
  switch (stacking) {
    case Stacking::beside: matrix.columns *= products; break;
    case Stacking::below: matrix.rows *= products; break;
    case Stacking::apart:
      matrix.rows *= matrix.columns;
      matrix.columns = products;
      matrix.leading_dimension = stride;
      break;
    case Stacking::one:
    case Stacking::scattered: break;
  }
  return matrix;
}

Stacking stacking_of(const Operand& matrix, std::int64_t products, std::int64_t stride) {
  const std::int64_t rows = matrix.rows;
  const std::int64_t leading = matrix.leading_dimension;
  const bool dense = rows == leading || matrix.columns == 1;
  if (products == 1 || stride == 0) return Stacking::one;
  if (dense && stride >= rows * matrix.columns) return Stacking::apart;
  if (stride == leading * matrix.columns) return Stacking::beside;
  if (stride == rows && leading >= rows * products) return Stacking::below;
  return Stacking::scattered;
}

}  // namespace

Matrices matrices(const Call& batch, std::size_t operand) {
  const Size size = size_of(batch, operand);
  Matrices result{batch.operands()[operand], 0};
  Operand& first = result.first;
  switch (batch.stacking[operand]) {
    case Stacking::beside: result.stride = first.leading_dimension * size.columns; break;
    case Stacking::below: result.stride = size.rows; break;
    case Stacking::apart:
      result.stride = first.leading_dimension;
      first.leading_dimension = std::max<std::int64_t>(size.rows, 1);
      break;
    case Stacking::one:
    case Stacking::scattered: break;
  }
  first.rows = size.rows;
  first.columns = size.columns;
  return result;
}

void stack(Call& batch, std::span<const std::int64_t> strides) {
  if (!valid(batch)) return;
  const std::size_t operands = batch.operands().size();
  std::array<Stacking, 3> found{};
  for (std::size_t i = 0; i < operands; ++i) found[i] = stacking_of(batch.operands()[i], batch.products, strides[i]);
  const bool shared_result = found[operands - 1] == Stacking::one && batch.products > 1;
  if (shared_result || std::ranges::find(found, Stacking::scattered) != found.end()) {
    batch.stacking.fill(Stacking::scattered);
    return;
  }
  batch.stacking = found;
  for (std::size_t i = 0; i < operands; ++i)
    batch.operands()[i] = stacked(batch.operands()[i], found[i], batch.products, strides[i]);
}

bool is_scattered(const Call& call) {
  return call.stacking.front() == Stacking::scattered;
}

bool adopt_stacks(Call& batch, std::span<const Operand> stacks) {
  if (stacks.size() != batch.operands().size()) return false;
  const auto fits = [&](std::size_t operand, Stacking stacking) {
    const Operand expected = stacked(batch.operands()[operand], stacking, batch.products, 0);
    return expected.rows == stacks[operand].rows && expected.columns == stacks[operand].columns;
  };
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    constexpr std::array all = {Stacking::one, Stacking::apart, Stacking::beside, Stacking::below};
    const auto* const found = std::ranges::find_if(all, [&](Stacking each) { return fits(i, each); });
    if (found == all.end()) return false;
    batch.stacking[i] = *found;
  }
  std::ranges::copy(stacks, batch.operands().begin());
  return true;
}

Call one_product(const Call& batch, std::int64_t number) {
  Call one = batch;
  one.routine = routine_of(is_solve_batch(batch.kind()) ? Kind::trsm : Kind::gemm, batch.scalar());
  one.products = 1;
  one.stacking = {};
  for (std::size_t i = 0; i < one.operands().size(); ++i) {
    const Matrices all = matrices(batch, i);
    one.operands()[i] = all.first;
    one.operands()[i].address = element_address(all.first, number * all.stride, 0);
  }
  if (is_solve_batch(batch.kind())) one.operands().front().part = part_of(one.uplo);
  return one;
}

Call some_products(const Call& batch, Range numbers) {
  Call some = batch;
  some.products = numbers.size();
  for (std::size_t i = 0; i < some.operands().size(); ++i) {
    const Matrices all = matrices(batch, i);
    Operand first = all.first;
    first.address = element_address(first, numbers.begin * all.stride, 0);
    some.operands()[i] = stacked(first, batch.stacking[i], some.products, all.stride);
  }
  return some;
}

}  // namespace blastoff::blas
