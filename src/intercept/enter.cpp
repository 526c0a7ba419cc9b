#include "intercept/enter.h"

namespace blastoff::intercept {

std::unique_ptr<operation::Host> level3_host(const Visit& visit) {
  return std::make_unique<abi::OriginalRoutine>(original_routine(visit.entry, visit.original));
}

}  // namespace blastoff::intercept
