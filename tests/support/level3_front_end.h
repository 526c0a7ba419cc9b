// The level-3 routines have their numbers and names, as in a process that has loaded the library.
#pragma once

#include "blas/level3.h"

namespace blastoff::test {

inline const bool level3_added = [] {
  operation::add_front_end(blas::level3());
  return true;
}();

}  // namespace blastoff::test
