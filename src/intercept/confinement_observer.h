// Notices that the program is about to forbid itself system calls.
#pragma once

namespace blastoff::intercept {

/// Calls `observer` from now on before prctl(PR_SET_SECCOMP) or seccomp(2) puts a filter in force, in the thread that
/// asks for it. Patches the C library's prctl() and syscall(). A program that makes the system call by itself is not
/// noticed.
void observe_confinement(void (*observer)());

}  // namespace blastoff::intercept
