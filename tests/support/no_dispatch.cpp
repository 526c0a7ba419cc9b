// For programs in which nothing is intercepted: hooks lead to dispatch(), and nobody calls them.
#include <cstdlib>

#include "intercept/dispatch.h"

namespace blastoff {

void intercept::dispatch(const Visit&, const Parsed*) {
  std::abort();
}

void intercept::dispatch_distributed(const Visit&, const scalapack::Call&) {
  std::abort();
}

bool intercept::dispatch_if_small(const Visit&, double, double) {
  std::abort();
}

}  // namespace blastoff
