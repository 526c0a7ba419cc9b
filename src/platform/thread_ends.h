// Waiting for the very end of Blastoff's threads.
#pragma once

namespace blastoff::platform {

/// To be called by one of Blastoff's threads before it says that it is done. After that it still destroys its
/// thread-local objects, among them those of the device's libraries. These objects need what the exit handlers of the
/// libraries destroy.
void announce_end();

/// Waits until the threads that have announced their end are gone, but not for longer than a second.
void wait_for_announced_ends();

}  // namespace blastoff::platform
