// The calling thread's own stack.
#pragma once

#include "platform/span.h"

namespace blastoff::platform {

/// Whether the span lies in the stack of the calling thread. Always false on the main thread, whose stack has no fixed
/// bounds.
bool on_own_stack(Span span);

}  // namespace blastoff::platform
