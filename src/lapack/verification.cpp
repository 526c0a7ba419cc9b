#include "lapack/verification.h"

#include "lapack/kinds.h"

namespace blastoff::lapack {

std::unique_ptr<operation::Verification> verify(const operation::Operation& operation) {
  return kind_row(operation.payload<Problem>()).check(operation);
}

}  // namespace blastoff::lapack
