// How an allocation of a given size is treated, and why.
#pragma once

#include <atomic>
#include <cstddef>

#include "allocator/settings.h"

namespace blastoff::allocator {

/// Allocations of this size and more take the slow path. Read at every allocation.
extern std::atomic<std::size_t> large_from;

struct Placement {
  bool place = false;  ///< give it pages of its own
  int node = -1;       ///< and bind them there; -1: do not
  bool huge_pages = false;
};

/// For an allocation of `large_from` bytes and more. The first one decides for the process, and prints what prevents
/// placement.
Placement placement_for(std::size_t bytes);

/// Reads the settings and finds out which library allocates in this process, so that no later allocation needs the
/// dynamic linker's lock. Called once, when the library is loaded; earlier allocations are not placed. If large
/// allocations will not reach this library, it says so now, because it cannot later.
void prepare_placement();

/// Binding failed: prints that once. Blocks are only aligned from now on.
void give_up_binding(int error);

/// For reports: why this library does nothing (nullptr: it works), why it does not bind, and the node to which it binds
/// (-1: none).
const char* malloc_owner();
const char* why_unbound();
int bound_node();

}  // namespace blastoff::allocator
