// Stacks for threads, coroutines and signal handlers that have hardly any. What a program's call survives without
// Blastoff, it survives with it: only the original runs on the caller's own stack.
#pragma once

#include <cstddef>

#include "platform/body.h"

namespace blastoff::platform {

/// Bytes of stack left below the caller; 0 where that is not known: a coroutine or a signal handler may have its own.
std::size_t stack_left();

/// Whether a place lies on this thread's own stack, and not on one of a coroutine, for signals, or of ours.
bool on_stack_of_thread(const void* place);

/// cuBLAS and the driver need more stack than BLAS callers, and threads under a limit of the stack, may have left.
inline constexpr std::size_t ample_stack = std::size_t{256} << 10;

/// Runs `body`: here if there is stack enough, else on a stack of ours, by the same thread (2 us). False: an exception
/// ended it (platform/contained.h), or it has not run, since no stack could be had.
bool run_with_ample_stack(const Body& body);

}  // namespace blastoff::platform
