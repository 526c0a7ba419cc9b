// Scheduling of Blastoff's threads whose work is not urgent.
#pragma once

namespace blastoff::platform {

/// From here on the calling thread, one of Blastoff's own, takes no core from a thread of the program when it wakes
/// (SCHED_BATCH). It still gets its share of the time, since others may wait for its locks. Threads that it starts are
/// scheduled as usual.
void give_way();

/// Undoes give_way(), for a thread that one of Blastoff's own has started and that inherited it.
void go_on_as_usual();

}  // namespace blastoff::platform
