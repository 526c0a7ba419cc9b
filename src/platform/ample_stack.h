// Stacks for threads, coroutines and signal handlers that have hardly any. A call that works without Blastoff must work
// with it, so only the original runs on the caller's own stack.
#pragma once

#include <cstddef>

#include "platform/body.h"

namespace blastoff::platform {

/// Bytes of stack left below the caller. 0 if that is not known: a coroutine or a signal handler may have a stack of
/// its own.
std::size_t stack_left();

/// Whether a place lies on this thread's own stack, rather than on a stack of a coroutine, of a signal handler or of
/// Blastoff.
bool on_stack_of_thread(const void* place);

/// Bytes of stack for cuBLAS and the driver. They need more than a BLAS caller may have left, or a thread with a
/// limited stack.
inline constexpr std::size_t ample_stack = std::size_t{256} << 10;

/// Runs `body` on this thread: on its present stack if enough of it is left, else on a stack that Blastoff makes, which
/// takes 2 us. Returns false if an exception ended the body (platform/contained.h), or if the body has not run, since
/// there was no memory for a stack.
bool run_with_ample_stack(const Body& body);

}  // namespace blastoff::platform
