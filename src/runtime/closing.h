// How the devices are closed at the end of the process. The kernel frees what their driver holds before it tells
// anybody that the process has ended: a tenth of a second on a GPU, which a short program would lose. There a process
// of ours takes over the driver's files, and closes them once the program has ended.
#pragma once

#include <chrono>
#include <string>

#include "runtime/sessions.h"

namespace blastoff::runtime {

/// Whether the devices may be closed a little later than the process ends, which has run for `age`. A program that runs
/// for long gains nothing. Not where the next one may need the device at once: if it holds much of its memory, or if
/// one process at a time may use it. What a server makes of such files is not known.
bool may_close_later(const Sessions& sessions, std::chrono::steady_clock::duration age);

/// Where blastoff-closer is: beside this library, or where a site installs what is not for users; "": in neither place.
/// To be asked before the end of the process, which waits for no lock.
std::string find_closer();

/// To be called last. Without a closer, the devices are closed as ever.
void close_later(const Sessions& sessions, const std::string& closer);

}  // namespace blastoff::runtime
