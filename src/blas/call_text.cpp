#include "blas/call_text.h"

#include <fmt/format.h>

namespace blastoff::blas {
namespace {

char letter(Side side) {
  return side == Side::left ? 'L' : 'R';
}
char letter(Uplo uplo) {
  return uplo == Uplo::upper ? 'U' : 'L';
}
char letter(Diagonal diagonal) {
  return diagonal == Diagonal::unit ? 'U' : 'N';
}
char letter(Transpose transpose) {
  switch (transpose) {
    case Transpose::none: return 'N';
    case Transpose::transpose: return 'T';
    case Transpose::conjugate: return 'C';
  }
  return '?';
}

}  // namespace

std::string call_text(const Call& call) {
  switch (call.kind()) {
    case Kind::gemm:
      return fmt::format("{} {} m={} n={} k={}", letter(call.transpose_a), letter(call.transpose_b), call.m, call.n,
                         call.k);
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided:
      return fmt::format("{} {} m={} n={} k={} products={}", letter(call.transpose_a), letter(call.transpose_b), call.m,
                         call.n, call.k, call.products);
    case Kind::gemmt:
      return fmt::format("{} {} {} n={} k={}", letter(call.uplo), letter(call.transpose_a), letter(call.transpose_b),
                         call.n, call.k);
    case Kind::symm:
    case Kind::hemm: return fmt::format("{} {} m={} n={}", letter(call.side), letter(call.uplo), call.m, call.n);
    case Kind::syrk:
    case Kind::herk:
    case Kind::syr2k:
    case Kind::her2k:
      return fmt::format("{} {} n={} k={}", letter(call.uplo), letter(call.transpose_a), call.n, call.k);
    case Kind::gemv: return fmt::format("{} m={} n={}", letter(call.transpose_a), call.m, call.n);
    case Kind::symv:
    case Kind::hemv: return fmt::format("{} n={}", letter(call.uplo), call.n);
    case Kind::trmm:
    case Kind::trsm:
      return fmt::format("{} {} {} {} m={} n={}", letter(call.side), letter(call.uplo), letter(call.transpose_a),
                         letter(call.diagonal), call.m, call.n);
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided:
      return fmt::format("{} {} {} {} m={} n={} products={}", letter(call.side), letter(call.uplo),
                         letter(call.transpose_a), letter(call.diagonal), call.m, call.n, call.products);
  }
  return "";
}

}  // namespace blastoff::blas
