#include "device/gpu/cuda/cublas/triangular_product.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace blastoff::device::gpu::cuda {
namespace {

using blas::Call;
using blas::Operand;
using blas::Transpose;

Address address_of(const Operand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.address);
}

/// The part of the operand that begins at element (row, column).
Operand from(Operand operand, std::int64_t row, std::int64_t column) {
  operand.address = static_cast<unsigned char*>(operand.address) +
                    static_cast<std::size_t>(row + column * operand.leading_dimension) * operand.element_size;
  return operand;
}

blas::Routine general_product(blas::Scalar scalar) {
  switch (scalar) {
    case blas::Scalar::s: return blas::Routine::sgemm;
    case blas::Scalar::d: return blas::Routine::dgemm;
    case blas::Scalar::c: return blas::Routine::cgemm;
    case blas::Scalar::z: break;
  }
  return blas::Routine::zgemm;
}

/// The product of rows [row, row + rows) of op(A) and columns [column, column + columns) of op(B). Its result goes to
/// that block of C, unless the caller changes it.
Call block(const Call& call, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  Call product = call;
  product.routine = general_product(call.scalar());
  product.m = rows;
  product.n = columns;
  auto& [a, b, c] = product.operand_storage;
  a = call.transpose_a == Transpose::none ? from(a, row, 0) : from(a, 0, row);
  b = call.transpose_b == Transpose::none ? from(b, 0, column) : from(b, column, 0);
  c = from(c, row, column);
  return product;
}

std::int64_t square_order(const Call& call) {
  return std::min(call.n, std::clamp<std::int64_t>(call.n / 8 / 64 * 64, 128, largest_diagonal_square));
}

}  // namespace

std::size_t triangular_product_scratch(const Call& call) {
  const auto order = static_cast<std::size_t>(square_order(call));
  return order * order * call.result().element_size;
}

Status run_triangular_product(const Call& call, const BlasHandle& handle, const TriangleKernel& kernel, Address scratch,
                              StreamHandle stream) {
  const auto order = square_order(call);
  const auto part = call.uplo == blas::Uplo::upper ? blas::Part::upper : blas::Part::lower;
  for (std::int64_t column = 0; column < call.n; column += order) {
    const auto columns = std::min(order, call.n - column);
    const auto off_row = part == blas::Part::upper ? 0 : column + columns;
    const auto off_rows = part == blas::Part::upper ? column : call.n - off_row;
    if (off_rows > 0) {
      if (auto ok = handle.run(block(call, off_row, off_rows, column, columns)); !ok) return ok;
    }
    auto square = block(call, column, columns, column, columns);
    auto& c = square.result();
    const TriangleCopy copy{
        address_of(c), scratch, c.stride_bytes(), static_cast<std::size_t>(columns) * c.element_size,
        columns,       columns, c.element_size,   part};
    if (call.beta != blas::Coefficient{}) {
      // The other triangle of the scratch square holds arbitrary values, which do no harm: no element of a gemm's C
      // depends on another.
      TriangleCopy fetch = copy;
      std::swap(fetch.destination, fetch.source);
      std::swap(fetch.destination_pitch, fetch.source_pitch);
      if (auto ok = kernel.launch(fetch, stream); !ok) return ok;
    }
    c.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(scratch));
    c.leading_dimension = columns;
    if (auto ok = handle.run(square); !ok) return ok;
    if (auto ok = kernel.launch(copy, stream); !ok) return ok;
  }
  return {};
}

}  // namespace blastoff::device::gpu::cuda
