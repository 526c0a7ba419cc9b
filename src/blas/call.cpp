#include "blas/call.h"

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
  if (call.m < 0 || call.n < 0 || call.k < 0 || call.products < 0 || !options_legal(call)) return false;
  for (const Operand& operand : call.operands()) {
    if (operand.leading_dimension < std::max<std::int64_t>(1, operand.rows)) return false;
  }
  return true;
}

bool trivial(const Call& call) {
  return call.m == 0 || call.n == 0 || call.k == 0 || call.products == 0 || is_zero(call.alpha);
}

double flops(const Call& call) {
  return static_cast<double>(call.products) * flops(call.kind(), call.scalar(), call.side, call.m, call.n, call.k);
}

std::uint64_t likeness(const Call& call) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = call.side == Side::left ? 1 : 2;
  if (!is_matrix_vector(call.kind())) {
    for (const std::int64_t size : {call.m, call.n, call.k, call.products})
      mixed = (mixed ^ static_cast<std::uint64_t>(size)) * factor;
  }
  return (mixed ^ (mixed >> 32) ^ static_cast<std::uint64_t>(call.result().intent)) * factor;
}

}  // namespace blastoff::blas
