#include "allocator/initialization.h"

#include "allocator/next.h"
#include "allocator/notifications.h"
#include "allocator/placement.h"

namespace blastoff::allocator {

bool initialize() {
  if (!find_next()) return false;
  notify_of_released_blocks();
  return true;
}

namespace {

/// Mostly others have called before: the dynamic linker, and constructors of what this library does not depend on.
[[gnu::constructor]] void when_loaded() {
  initialize();
  prepare_placement();
}

}  // namespace

}  // namespace blastoff::allocator
