// What is done with an allocation of a certain size, and why not more.
#pragma once

#include <atomic>
#include <cstddef>

#include "allocator/settings.h"

namespace blastoff::allocator {

/// Allocations of this size and more take the slow way. Looked at by every allocation.
extern std::atomic<std::size_t> large_from;

struct Placement {
  bool place = false;  ///< give it pages of its own
  int node = -1;       ///< and bind them there; -1: do not
  bool huge_pages = false;
};

/// For an allocation of `large_from` and more. The first one decides for the process, and says what stands in the way.
Placement placement_for(std::size_t bytes);

/// Reads the settings and finds out who allocates in this process, so that an allocation later, on whatever thread,
/// need not take the dynamic linker's lock. Called once, when the library is loaded: what is allocated before is not
/// placed. Says at once, not at the first large allocation, what will keep those from coming here.
void prepare_placement();

/// Binding failed: says so once. Blocks are only aligned from here on.
void give_up_binding(int error);

/// For reports: why this library does nothing (nullptr: it does what it was asked to), why it does not bind, and to
/// which node it does (-1: none).
const char* malloc_owner();
const char* why_unbound();
int bound_node();

}  // namespace blastoff::allocator
