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

/// Calls usually arrive earlier: from the dynamic linker, and from constructors of libraries on which this one does not
/// depend.
[[gnu::constructor]] void when_loaded() {
  initialize();
  prepare_placement();
}

}  // namespace

}  // namespace blastoff::allocator
