// What the kernel finds in memory on the program's behalf, and what it does there without changing the contents.
#pragma once

#include <cstddef>

#include "random.h"

namespace coherence {

/// Starts another process, which looks at the memory of this one when it is told to. To be called before the first
/// call.
void start_outsider();

/// Whether the kernel finds the expected bytes: by write(2) to a file or a pipe, past its cache (O_DIRECT), by
/// io_uring, by giving the pages themselves to a pipe, by process_vm_readv, or in /proc/self/mem; or whether another
/// process finds them, by process_vm_readv, in /proc/PID/mem, or as a debugger does. In memory files, and for
/// debuggers, there may be fewer.
bool kernel_finds(const char* data, const char* expected, std::size_t bytes, Random& random);

/// Gives the kernel advice about whole pages within the memory, which is private, or locks them for a moment.
void advise(char* data, std::size_t bytes, Random& random);

}  // namespace coherence
