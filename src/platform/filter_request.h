// Which system calls put a filter of system calls (seccomp) in force?
#pragma once

namespace blastoff::platform {

/// Whether prctl() with these arguments does. A filter without an address only asks whether the kernel has filters.
bool requests_filter(int option, unsigned long mode, unsigned long filter);

/// The same of the system call with this number.
bool requests_filter_by_number(long number, long a, long b, long c);

}  // namespace blastoff::platform
