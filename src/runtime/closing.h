// How the devices are closed at the end of the process. The kernel frees what their driver holds before it reports the
// end of the process to anybody. On a GPU that takes a tenth of a second, which a short program would lose. For such
// programs a small process, blastoff-closer, inherits the driver's files, and closes them when the program has ended.
#pragma once

#include <chrono>
#include <string>

#include "runtime/device_set.h"

namespace blastoff::runtime {

/// Whether the devices may be closed a little later than the process ends. `age`: how long the process has run; a
/// program that runs for long gains nothing. False if the next program may need the device at once: if this one holds
/// much of its memory, or if the device admits one process at a time. False also if a server opens the device for its
/// clients: how it treats such files is not known.
bool may_close_later(const DeviceSet& devices, std::chrono::steady_clock::duration age);

/// Path of blastoff-closer: beside this library, or in the folder `blastoff` there, where a site installs programs that
/// users do not run. "" if it is in neither place. To be called before the end of the process, which must not wait for
/// a lock.
std::string find_closer();

/// To be called last. With an empty `closer`, the end of the process closes the devices.
void close_later(const DeviceSet& devices, const std::string& closer);

}  // namespace blastoff::runtime
