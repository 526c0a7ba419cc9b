// Memory that was allocated and has no pages yet.
#pragma once

#include "platform/span.h"

namespace blastoff::platform {

/// Whether whole pages of memory have been touched, as far as some of them tell that are evenly spread. Some
/// microseconds.
bool has_pages(Span span);

/// Makes all of the span present and writable now, as writing would. Where the program may not write, or the kernel is
/// older than 5.14, nothing happens. Changes errno.
void give_pages(Span span);

}  // namespace blastoff::platform
