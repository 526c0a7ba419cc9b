#include "allocator/begin.h"

#include "allocator/next.h"
#include "allocator/plan.h"
#include "allocator/telling.h"

namespace blastoff::allocator {

bool begin() {
  if (!find_next()) return false;
  tell_of_released_blocks();
  read_plan();
  return true;
}

namespace {

/// Mostly others have called before: the dynamic linker, and constructors of what this library does not depend on.
[[gnu::constructor]] void when_loaded() {
  begin();
  say_if_never_called();
}

}  // namespace

}  // namespace blastoff::allocator
