// Work of ours that may take its time.
#pragma once

namespace blastoff::platform {

/// From here on the calling thread, one of Blastoff's own, takes no core from a thread of the program when it wakes
/// (SCHED_BATCH). It gets its share all the same: others may wait for what it holds. Threads that it starts are as
/// usual.
void give_way();

/// For a thread that one of Blastoff's own has started, which may have given way.
void go_on_as_usual();

}  // namespace blastoff::platform
