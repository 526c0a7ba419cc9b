// What the kernel finds in memory on the program's behalf, and what it does there without changing the contents.
#pragma once

#include <cstddef>

#include "random.h"

namespace coherence {

/// Whether the kernel finds the expected bytes: by write(2) to a file or a pipe, by giving the pages themselves to a
/// pipe, by process_vm_readv, or in /proc/self/mem. There it may find fewer.
bool kernel_finds(const char* data, const char* expected, std::size_t bytes, Random& random);

/// Gives the kernel advice about whole pages within the memory, which is private, or locks them for a moment.
void advise(char* data, std::size_t bytes, Random& random);

}  // namespace coherence
