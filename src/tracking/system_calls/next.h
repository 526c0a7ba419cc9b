// The C library's functions that we wrap, so that system calls do with Blastoff what they do without it.
#pragma once

#include <cstddef>

namespace blastoff::tracking::system_calls {

/// The functions that the program's calls would reach without us: the C library's, or another library's wrappers. They
/// are the bare system calls until find_next() is called.
struct Next {
  void* (*mremap)(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target);
  int (*mprotect)(void* address, std::size_t bytes, int protection);
  int (*ioctl)(int descriptor, unsigned long request, void* argument);
};
extern Next next;

/// Called once when the library is loaded.
void find_next();

}  // namespace blastoff::tracking::system_calls
