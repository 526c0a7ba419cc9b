// The program as a child of the launcher, which passes signals on to it, and ends in the way in which the program
// ended.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/failure.h"

namespace blastoff::launcher {

/// Signals that the launcher passes on: all but those that it gets because of its own actions.
sigset_t forwarded_signals();
/// These and SIGCHLD.
sigset_t heard_signals();

/// Starts the program and returns its process id. From now on, the launcher's signals are blocked.
Expected<pid_t> start(const std::string& program, const std::vector<std::string>& command,
                      const Environment& environment);

/// To be called in a child of the launcher: the kernel kills the child when the launcher ends.
void end_with(pid_t launcher);

/// Closes the files that the program has inherited too, so that pipes and locks end when the program closes them.
/// Standard error stays.
void let_go_of_files(const std::vector<int>& kept);

/// Ends the launcher as the program has ended: with its exit status, or by its signal, without a second core file.
[[noreturn]] void end_as(int status);

/// Arguments for execve(), while the strings are not changed.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

}  // namespace blastoff::launcher
