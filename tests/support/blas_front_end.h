// Gives the BLAS routines their numbers and names, as in a process that has loaded the library.
#pragma once

#include "blas/front_end.h"

namespace blastoff::test {

inline const bool blas_added = [] {
  operation::add_front_end(blas::front_end());
  return true;
}();

}  // namespace blastoff::test
