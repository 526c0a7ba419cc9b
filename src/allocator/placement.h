// Decides how an allocation of a given size is treated.
#pragma once

#include <atomic>
#include <cstddef>

#include "allocator/settings.h"

namespace blastoff::allocator {

/// Allocations of this size or larger take the slow path. Read at every allocation.
extern std::atomic<std::size_t> large_from;

struct Placement {
  bool place = false;  ///< the allocation gets pages of its own
  int node = -1;       ///< NUMA node to which they are bound; -1: none
  bool huge_pages = false;
};

/// Called for an allocation of `large_from` bytes or more. The first call decides for the process, and prints what
/// prevents placement.
Placement placement_for(std::size_t bytes);

/// Reads the settings and finds out which library allocates in this process, so that no later allocation needs the
/// dynamic linker's lock. Called once, when the library is loaded; earlier allocations are not placed. If large
/// allocations will not reach this library, it says so now, because it cannot later.
void prepare_placement();

/// Called when binding has failed. Prints that once; from now on, blocks are only aligned.
void give_up_binding(int error);

/// For reports: the library that allocates instead of this one (nullptr: none does), the reason why memory is not
/// bound, and the node to which memory is bound (-1: none).
const char* malloc_owner();
const char* why_unbound();
int bound_node();

}  // namespace blastoff::allocator
