#include "platform/left_open.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "platform/descriptor.h"
#include "platform/folder.h"

namespace blastoff::platform {
namespace {

namespace fs = std::filesystem;

/// The descriptors of the new process: these under their numbers, `input` as standard input, no output.
class Inheritance {
 public:
  Inheritance(int input, const std::vector<int>& descriptors) {
    made_ = posix_spawn_file_actions_init(&actions_) == 0;
    ready_ = made_;
    add(input, STDIN_FILENO);
    for (const int output : {STDOUT_FILENO, STDERR_FILENO})
      ready_ = ready_ && posix_spawn_file_actions_addclose(&actions_, output) == 0;
    for (const int descriptor : descriptors) add(descriptor, descriptor);  // keeps it open in the new program
  }
  ~Inheritance() {
    if (made_) posix_spawn_file_actions_destroy(&actions_);
  }
  Inheritance(const Inheritance&) = delete;
  Inheritance& operator=(const Inheritance&) = delete;

  /// nullptr if there is no memory.
  const posix_spawn_file_actions_t* actions() const { return ready_ ? &actions_ : nullptr; }

 private:
  void add(int from, int to) { ready_ = ready_ && posix_spawn_file_actions_adddup2(&actions_, from, to) == 0; }

  posix_spawn_file_actions_t actions_{};
  bool made_ = false;
  bool ready_ = false;
};

/// Starts the command without environment variables, so that nothing is preloaded into it, and with no signals blocked.
bool spawn(std::vector<std::string> command, const posix_spawn_file_actions_t* actions) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* const no_variables[] = {nullptr};
  posix_spawnattr_t attributes;
  if (posix_spawnattr_init(&attributes) != 0) return false;
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t started = 0;
  const int error = posix_spawn(&started, arguments.front(), actions, &attributes, arguments.data(), no_variables);
  posix_spawnattr_destroy(&attributes);
  return error == 0;
}

}  // namespace

std::vector<int> descriptors_of(std::string_view name) {
  std::vector<int> found;
  const std::string folder = "/proc/self/fd";
  for (const std::string& number : names_in(folder)) {
    std::error_code gone;
    if (!fs::read_symlink(fs::path(folder) / number, gone).native().starts_with(name)) continue;
    int descriptor = -1;
    std::from_chars(number.data(), number.data() + number.size(), descriptor);
    found.push_back(descriptor);
  }
  std::ranges::sort(found);
  return found;
}

bool leave_open(const std::string& closer, const std::vector<int>& descriptors) {
  if (descriptors.empty() || descriptors.front() <= STDERR_FILENO) return false;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const Descriptor to_read(ends[0]);
  Descriptor to_write(ends[1]);
  const Inheritance inheritance(to_read.get(), descriptors);
  if (inheritance.actions() == nullptr) return false;
  std::vector<std::string> command{closer};
  for (const int descriptor : descriptors) command.push_back(std::to_string(descriptor));
  if (!spawn(std::move(command), inheritance.actions())) return false;
  to_write.forget();  // the end of this process closes it
  return true;
}

}  // namespace blastoff::platform
