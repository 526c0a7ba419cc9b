// For programs in which nothing is intercepted: hooks lead to dispatch(), and nobody calls them.
#include <cstdlib>

#include "intercept/dispatch.h"

namespace blastoff {

void intercept::dispatch(const InterceptedCall&, const Parsed*) {
  std::abort();
}

void intercept::dispatch_distributed(const InterceptedCall&, const scalapack::Call&) {
  std::abort();
}

bool intercept::dispatch_if_small(const InterceptedCall&, double, double) {
  std::abort();
}

}  // namespace blastoff
