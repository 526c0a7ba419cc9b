// Where exceptions end. None leaves the library: the program may not know them, and may have no memory for them.
#pragma once

#include "platform/body.h"

namespace blastoff::platform {

/// Runs `body`. Returns false if an exception ended it, for which the only reason is lack of memory; destructors have
/// then given back what the body held. This is a function, not a template, so that no frame above an original has
/// anything to clean up (docs/notes.md, "Nothing to clean up"). Not to be used where the thread may be cancelled.
[[gnu::noinline]] bool contained(const Body& body);

/// Prints one line, the first time that something could not be done for lack of memory.
void say_out_of_memory();

}  // namespace blastoff::platform
