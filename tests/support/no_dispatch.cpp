// dispatch() for programs without interception: the hooks refer to it, but nothing calls them.
#include <cstdlib>

#include "intercept/dispatch.h"
#include "intercept/vectors/dispatch.h"

namespace blastoff {

void intercept::dispatch(const InterceptedCall&, const Parsed*) {
  std::abort();
}

void intercept::dispatch_distributed(const InterceptedCall&, const scalapack::Call&) {
  std::abort();
}

bool intercept::make_where_left(const VectorsCalled&) {
  std::abort();
}

bool intercept::counted_as_small(operation::RoutineId, double, double) {
  std::abort();
}

bool intercept::dispatch_if_small(const InterceptedCall&, double, double) {
  std::abort();
}

}  // namespace blastoff
