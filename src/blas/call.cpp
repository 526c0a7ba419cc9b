#include "blas/call.h"

#include <cmath>

#include "blas/shape.h"

namespace blastoff::blas {
namespace {

bool options_legal(const Call& call) {
  switch (call.kind()) {
    case Kind::syrk:
    case Kind::syr2k: return !is_complex(call.scalar()) || call.transpose_a != Transpose::conjugate;
    case Kind::herk:
    case Kind::her2k: return call.transpose_a != Transpose::transpose;
    default: return true;
  }
}

bool is_zero(Coefficient value) {
  return value.real() == 0 && value.imag() == 0;
}

struct OperationCount {
  double multiplications;
  double additions;
};

OperationCount count_operations(const Call& call) {
  const double m = static_cast<double>(call.m);
  const double n = static_cast<double>(call.n);
  const double k = static_cast<double>(call.k);
  switch (call.kind()) {
    case Kind::gemm:
    case Kind::symm:
    case Kind::hemm: return {m * n * k, m * n * k};
    case Kind::gemmt:
    case Kind::syrk:
    case Kind::herk: return {k * n * (n + 1) / 2, k * n * (n + 1) / 2};
    case Kind::syr2k:
    case Kind::her2k: return {k * n * n, k * n * n + n};
    case Kind::gemv:
    case Kind::symv:
    case Kind::hemv: return {m * n, m * n};
    case Kind::trmm:
    case Kind::trsm: {
      const double other = call.side == Side::left ? n : m;
      return {other * k * (k + 1) / 2, other * k * (k - 1) / 2};
    }
  }
  return {0, 0};
}

}  // namespace

void shape_operands(Call& call, std::span<void* const> addresses, std::span<const std::int64_t> leading_dimensions) {
  with_kind(call.kind(), [&]<Kind kind>() {
    imply_sizes<kind>(call);
    call.operand_storage =
        operands_of<kind>(call, element_size(call.scalar()), addresses.data(), leading_dimensions.data());
    call.operand_count = operand_count(kind);
  });
}

bool valid(const Call& call) {
  if (call.m < 0 || call.n < 0 || call.k < 0 || !options_legal(call)) return false;
  for (const Operand& operand : call.operands()) {
    if (operand.leading_dimension < std::max<std::int64_t>(1, operand.rows)) return false;
  }
  return true;
}

bool trivial(const Call& call) {
  return call.m == 0 || call.n == 0 || call.k == 0 || is_zero(call.alpha);
}

double flops(const Call& call) {
  const OperationCount count = count_operations(call);
  return is_complex(call.scalar()) ? 6 * count.multiplications + 2 * count.additions
                                   : count.multiplications + count.additions;
}

double average_size(const Call& call) {
  return std::cbrt(volume(call));
}

}  // namespace blastoff::blas
