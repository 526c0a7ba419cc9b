#include "blas/front_end.h"

#include <fmt/format.h>
#include <algorithm>
#include <string>

#include "blas/batch.h"
#include "blas/batch_check.h"
#include "blas/blocks.h"
#include "blas/call.h"
#include "blas/element_check.h"
#include "blas/panels.h"
#include "blas/parts.h"
#include "blas/product_check.h"
#include "blas/shape.h"
#include "blas/verification.h"

namespace blastoff::blas {
namespace {

// Writes a call's options and sizes as text.

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

/// Returns the option letters and dimensions in the order of the routine's own arguments: "T N m=32 n=2400 k=93536".
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

/// The payload: a Call without its operands.
struct Payload {
  Routine routine;
  Side side;
  Uplo uplo;
  Transpose transpose_a;
  Transpose transpose_b;
  Diagonal diagonal;
  bool reversed_x;
  bool reversed_y;
  bool conjugated;
  std::array<Stacking, 3> stacking;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t products;
  double alpha[2];
  double beta[2];
};

operation::Cutting cutting(Kind kind) {
  using operation::Cutting;
  if (kind == Kind::syr2k || kind == Kind::her2k) return Cutting::none;  // rectangles take more than one gemm
  if (is_matrix_vector(kind)) return Cutting::none;                      // the result is small
  if (has_triangular_result(kind)) return Cutting::one_triangle;
  return is_triangular_solve_or_product(kind) && !is_batch(kind) ? Cutting::wide_strips : Cutting::strips;
}

/// Returns the index of the operand of `call` to which operand `index` of one of its panels belongs. (A panel of syrk
/// is a gemm.)
std::size_t parent_of(const Call& call, const Call& panel, std::size_t index) {
  const auto last = static_cast<std::size_t>(call.operand_count) - 1;
  return index + 1 == static_cast<std::size_t>(panel.operand_count) ? last : std::min(index, last - 1);
}

operation::Operation make_operation(const Call& call, const Call& whole) {
  const Payload payload{call.routine,
                        call.side,
                        call.uplo,
                        call.transpose_a,
                        call.transpose_b,
                        call.diagonal,
                        call.reversed_x,
                        call.reversed_y,
                        call.conjugated,
                        call.stacking,
                        call.m,
                        call.n,
                        call.k,
                        call.products,
                        {call.alpha.real(), call.alpha.imag()},
                        {call.beta.real(), call.beta.imag()}};
  operation::Operation result(front_end(), id_of(call.routine), payload);
  result.work = {flops(call), volume(call), depth(call), is_matrix_vector(call.kind())};
  result.cutting = cutting(call.kind());
  result.outlives_call = !is_batch(call.kind());
  result.gaps_are_others = std::ranges::find(call.stacking, Stacking::apart) != call.stacking.end();
  for (std::size_t i = 0; i < call.operands().size(); ++i) result.add(call.operands()[i], parent_of(whole, call, i));
  return result;
}

class BlasFrontEnd final : public operation::FrontEnd {
 public:
  constexpr BlasFrontEnd() = default;

  std::size_t routine_count() const override { return blas::routine_count; }
  const char* routine_name(std::size_t routine) const override { return routine_table[routine].name; }
  std::string arguments(const operation::Operation& operation) const override { return call_text(call_of(operation)); }

  std::vector<operation::Operation> pieces(const operation::Operation& operation,
                                           std::size_t piece_bytes) const override {
    const Call whole = call_of(operation);
    std::vector<operation::Operation> result;
    for (const Call& panel : panels(whole, piece_bytes)) result.push_back(make_operation(panel, whole));
    return result;
  }

  std::vector<std::vector<operation::Operation>> blocks(const operation::Operation& operation,
                                                        std::size_t bytes) const override {
    std::vector<std::vector<operation::Operation>> result;
    for (const std::vector<Call>& series : blas::blocks(call_of(operation), bytes))
      result.emplace_back(series.begin(), series.end());
    return result;
  }

  std::vector<std::vector<operation::Operation>> parts(const operation::Operation& operation,
                                                       int count) const override {
    std::vector<std::vector<operation::Operation>> result;
    for (const std::vector<Call>& part : blas::parts(call_of(operation), count))
      result.emplace_back(part.begin(), part.end());
    return result;
  }

  std::unique_ptr<operation::Verification> verification(const operation::Operation& operation,
                                                        const operation::Host& host,
                                                        operation::Effort effort) const override {
    const Call call = call_of(operation);
    const bool quick = effort == operation::Effort::quick;
    if (is_batch(call.kind())) return check_products(call, host, effort);
    if (quick && has_product_check(call.kind())) return check_by_products(call);
    if (quick && is_matrix_vector(call.kind())) return check_elements(call);
    return verify(call, host);
  }
};

constinit BlasFrontEnd the_front_end;

}  // namespace

operation::FrontEnd& front_end() {
  return the_front_end;
}

operation::RoutineId id_of(Routine routine) {
  return static_cast<operation::RoutineId>(front_end().first_routine() + static_cast<std::size_t>(routine));
}

operation::Operation operation_of(const Call& call) {
  return make_operation(call, call);
}

Call::operator operation::Operation() const {
  return operation_of(*this);
}

bool is_blas(const operation::Operation& operation) {
  return operation.has_payload<Payload>();
}

Call call_of(const operation::Operation& operation) {
  const auto payload = operation.payload<Payload>();
  Call call;
  call.routine = payload.routine;
  call.side = payload.side;
  call.uplo = payload.uplo;
  call.transpose_a = payload.transpose_a;
  call.transpose_b = payload.transpose_b;
  call.diagonal = payload.diagonal;
  call.reversed_x = payload.reversed_x;
  call.reversed_y = payload.reversed_y;
  call.conjugated = payload.conjugated;
  call.stacking = payload.stacking;
  call.products = payload.products;
  call.m = payload.m;
  call.n = payload.n;
  call.k = payload.k;
  call.alpha = {payload.alpha[0], payload.alpha[1]};
  call.beta = {payload.beta[0], payload.beta[1]};
  std::ranges::copy(operation.operands(), call.operand_storage.begin());
  call.operand_count = static_cast<int>(operation.operands().size());
  return call;
}

}  // namespace blastoff::blas
