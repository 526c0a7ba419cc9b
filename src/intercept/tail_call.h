// Makes a function end in a jump to another one. The callee finds the stack and the return address as this function
// found them.
#pragma once

// A tail call needs optimisation, and a sanitizer must not do any bookkeeping after it.
#ifdef __clang__
#define BLASTOFF_TAIL_CALL [[clang::musttail]] return
#define BLASTOFF_TAIL_CALLING [[gnu::visibility("default")]] __attribute__((no_sanitize("address", "thread")))
#else
#define BLASTOFF_TAIL_CALL return
#define BLASTOFF_TAIL_CALLING \
  [[gnu::visibility("default"), gnu::optimize("O2"), gnu::no_sanitize_address, gnu::no_sanitize_thread]]
#endif
