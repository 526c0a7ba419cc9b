// Information about the library (include/blastoff_allocator.h).
#include "../../../include/blastoff_allocator.h"
#include "allocator/blocks.h"
#include "allocator/placement.h"

#pragma GCC visibility push(default)

extern "C" {

const char* blastoff_allocator_version(void) {
  return BLASTOFF_VERSION;
}

void blastoff_allocator_counts(blastoff_placement* counts) {
  *counts = {};
  blastoff::allocator::read_counts(*counts);
  counts->node = blastoff::allocator::bound_node();
  counts->owner = blastoff::allocator::malloc_owner();
  counts->unbound = blastoff::allocator::why_unbound();
}
}

#pragma GCC visibility pop
