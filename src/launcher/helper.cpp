#include "launcher/helper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "launcher/child.h"

namespace blastoff::launcher {

namespace {

/// Runs in the helper. It ends with the launcher, whose signals are not for it.
[[noreturn]] void execute(const std::vector<std::string>& command, const Environment& environment, pid_t launcher,
                          int connection, std::vector<int> kept) {
  end_with(launcher);
  const sigset_t heard = heard_signals();
  sigprocmask(SIG_BLOCK, &heard, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  dup2(connection, STDIN_FILENO);
  kept.push_back(STDIN_FILENO);
  let_go_of_files(kept);
  kept.push_back(STDERR_FILENO);
  for (const int file : kept) fcntl(file, F_SETFD, 0);
  execve(command[0].c_str(), pointers_to(command).data(), pointers_to(environment.entries()).data());
  _exit(cannot_execute);
}

}  // namespace

Expected<Helper> Helper::start(const std::vector<std::string>& command, const Environment& environment,
                               const std::vector<int>& kept) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail(std::strerror(errno));
  platform::Descriptor own(ends[0]);
  const platform::Descriptor other(ends[1]);
  const pid_t launcher = getpid();
  const pid_t child = fork();
  if (child == 0) execute(command, environment, launcher, other.get(), kept);
  if (child < 0) return fail(std::strerror(errno));
  return Helper(std::move(own), child);
}

void Helper::tell(const std::string& text) const {
  send(connection_.get(), text.c_str(), text.size() + 1, MSG_NOSIGNAL);
}

std::string Helper::hear() const {
  std::string text;
  for (char letter = 0; read(connection_.get(), &letter, 1) == 1 && letter != '\0';) text += letter;
  return text;
}

void Helper::dismiss() {
  connection_ = platform::Descriptor();
  waitpid(pid_, nullptr, 0);
}

}  // namespace blastoff::launcher
