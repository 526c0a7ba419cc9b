// The calling thread's own stack.
#pragma once

#include "platform/span.h"

namespace blastoff::platform {

/// Whether the span lies in the stack that the caller runs on, as its thread was given it. Never on the main thread,
/// whose stack has no fixed bounds.
bool on_own_stack(Span span);

}  // namespace blastoff::platform
