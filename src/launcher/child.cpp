#include "launcher/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "platform/descriptor.h"
#include "platform/folder.h"

namespace blastoff::launcher {

namespace {

/// The numbers of open files; all possible numbers if /proc is hidden.
std::vector<int> open_files() {
  std::vector<int> numbers;
  for (const std::string& name : platform::names_in("/proc/self/fd")) numbers.push_back(std::atoi(name.c_str()));
  rlimit limit{};
  if (numbers.empty() && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    for (int number = 0; number < static_cast<int>(limit.rlim_cur); ++number) numbers.push_back(number);
  return numbers;
}

tl::unexpected<Failure> why_not_executed(const std::string& program, int error) {
  const bool missing = error == ENOENT;
  return fail(program + ": " + std::strerror(error) + (missing ? " (its interpreter is missing)" : ""),
              missing ? not_found : cannot_execute);
}

}  // namespace

sigset_t forwarded_signals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGKILL, SIGSTOP, SIGCHLD, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ}) sigdelset(&signals, own);
  return signals;
}

sigset_t heard_signals() {
  sigset_t signals = forwarded_signals();
  sigaddset(&signals, SIGCHLD);
  return signals;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Expected<pid_t> start(const std::string& program, const std::vector<std::string>& command,
                      const Environment& environment) {
  const std::vector<char*> arguments = pointers_to(command);
  const std::vector<char*> variables = pointers_to(environment.entries());
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return why_not_executed(program, errno);
  const platform::Descriptor failed(failure[0]);
  platform::Descriptor fails(failure[1]);
  const pid_t launcher = getpid();
  const sigset_t heard = heard_signals();
  sigset_t mask;
  sigprocmask(SIG_BLOCK, &heard, &mask);
  const auto of_children = std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the child's status would be lost
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGCHLD, of_children);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    end_with(launcher);
    execve(program.c_str(), arguments.data(), variables.data());
    const int error = errno;
    if (write(fails.get(), &error, sizeof error) < 0) _exit(cannot_execute);
    _exit(cannot_execute);
  }
  int error = child < 0 ? errno : 0;
  fails = platform::Descriptor();
  if (child > 0 && read(failed.get(), &error, sizeof error) != sizeof error) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  return why_not_executed(program, error);
}

void end_with(pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(cannot_execute);
}

void let_go_of_files(const std::vector<int>& kept) {
  const auto is_kept = [&](int number) { return std::ranges::find(kept, number) != kept.end(); };
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO})
    if (!is_kept(standard)) dup2(null, standard);
  for (const int number : open_files())
    if (number > STDERR_FILENO && !is_kept(number)) close(number);
}

void end_as(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);
  if (number != SIGKILL) std::signal(number, SIG_DFL);
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, number);
  sigprocmask(SIG_UNBLOCK, &own, nullptr);
  kill(getpid(), number);
  _exit(128 + number);
}

}  // namespace blastoff::launcher
