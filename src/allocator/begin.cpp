#include "allocator/begin.h"

#include "allocator/next.h"
#include "allocator/plan.h"
#include "allocator/telling.h"

namespace blastoff::allocator {

bool begin() {
  if (!find_next()) return false;
  tell_of_released_blocks();
  return true;
}

namespace {

/// Mostly others have called before: the dynamic linker, and constructors of what this library does not depend on.
[[gnu::constructor]] void when_loaded() {
  begin();
  make_plan();
}

}  // namespace

}  // namespace blastoff::allocator
