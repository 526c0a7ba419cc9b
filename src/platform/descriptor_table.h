// A descriptor table of a thread's own.
#pragma once

namespace blastoff::platform {

/// From here on the calling thread shares no descriptors with the rest of the process: nothing that the program closes
/// or opens reaches it. Of those that were open only `kept` stays open in its table. False: the system forbids it and
/// the table is the program's still.
///
/// The other copies are closed at once, so that pipes end and locks go when the program closes its own. Record locks
/// (fcntl) belong to the table in which they were taken, and stay.
bool leave_shared_descriptors(int kept);

}  // namespace blastoff::platform
