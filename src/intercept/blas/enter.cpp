#include "intercept/blas/enter.h"

namespace blastoff::intercept {

abi::OriginalRoutine original_routine(const EntryPoint& entry, const Original& original) {
  const abi::Style style = entry.convention.style;
  return {blas_routine(entry.routine), {original.function, style}, {original.companion, style}};
}

std::unique_ptr<operation::Host> blas_host(const InterceptedCall& intercepted) {
  return std::make_unique<abi::OriginalRoutine>(original_routine(intercepted.entry, intercepted.original));
}

}  // namespace blastoff::intercept
