// How the devices are closed at the end of the process. The kernel frees what their driver holds before it tells
// anybody that the process has ended: a tenth of a second on a GPU, which a short program would lose. There a process
// of ours takes over the driver's files, and closes them once the program has ended.
#pragma once

#include <chrono>

#include "runtime/sessions.h"

namespace blastoff::runtime {

/// Whether the devices may be closed a little later than the process ends, which has run for `age`. A program that runs
/// for long gains nothing. Not where the next one may need the device at once: if it holds much of its memory, or if
/// one process at a time may use it. What a server makes of such files is not known.
bool may_close_later(const Sessions& sessions, std::chrono::steady_clock::duration age);

/// To be called last. Where there is no blastoff-closer beside this library, the devices are closed as ever.
void close_later(const Sessions& sessions);

}  // namespace blastoff::runtime
