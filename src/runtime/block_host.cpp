#include "runtime/block_host.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "abi/original_routine.h"
#include "blas/front_end.h"
#include "intercept/blas/entry_points.h"

namespace blastoff::runtime {

namespace {

/// Whether the routine's integers can hold the call's sizes.
bool fits(const blas::Call& call, abi::IntegerWidth integers) {
  if (integers == abi::IntegerWidth::ilp64) return true;
  std::int64_t largest = std::max({call.m, call.n, call.k});
  for (const operation::Operand& operand : call.operands()) largest = std::max(largest, operand.leading_dimension);
  return largest <= INT32_MAX;
}

}  // namespace

intercept::Original BlockHost::program_routine(blas::Scalar scalar) const {
  const intercept::LinkerCounts counts = intercept::linker_counts();
  const std::lock_guard lock(mutex_);
  std::optional<Found>& found = found_[static_cast<std::size_t>(scalar)];
  if (!found || found->counts != counts) {
    const auto gemm = intercept::blas_routine(blas::routine_of(blas::Kind::gemm, scalar));
    found = Found{counts, intercept::original_of_program(gemm)};
  }
  return found->original;
}

bool BlockHost::compute(const operation::Operation& operation) const {
  const blas::Call call = blas::call_of(operation);
  intercept::Original original;
  try {
    original = program_routine(call.scalar());
  } catch (const std::bad_alloc&) {
    return own_.compute(operation);
  }
  if (original.function == nullptr || !fits(call, original.convention.integers)) return own_.compute(operation);
  abi::OriginalRoutine(call.routine, {original.function, original.convention.style}, {}).compute(call);
  return true;
}

}  // namespace blastoff::runtime
