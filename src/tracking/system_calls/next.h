// The functions of the C library that we stand before, so that system calls which succeed without us succeed with us.
#pragma once

#include <cstddef>

namespace blastoff::tracking::system_calls {

/// What a call of the program would reach without us: the C library's, or another library's that stands before it. The
/// bare system calls until find_next() was called.
struct Next {
  void* (*mremap)(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target);
  int (*ioctl)(int descriptor, unsigned long request, void* argument);
};
extern Next next;

/// Called once when the library is loaded.
void find_next();

}  // namespace blastoff::tracking::system_calls
