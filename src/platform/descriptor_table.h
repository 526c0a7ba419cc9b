// A separate descriptor table for a thread.
#pragma once

namespace blastoff::platform {

/// From now on the calling thread shares no descriptors with the rest of the process, so the program cannot close or
/// replace its descriptors. Only `kept` stays open in the new table. False: the system forbids it, and the thread still
/// uses the program's table.
///
/// The copies of the other descriptors are closed at once, so that pipes end and locks are released when the program
/// closes its own. Record locks (fcntl) belong to the table in which they were taken, and stay.
bool leave_shared_descriptors(int kept);

}  // namespace blastoff::platform
