#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "platform/log.h"
#include "report/report.h"

namespace blastoff::report {

namespace {

class Descriptor {
 public:
  /// Where the program has closed its stderr, a new file must not become descriptor 2, to which other threads may
  /// print.
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return;
    descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(descriptor);
  }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

  /// Some file systems report a full disk only here.
  bool close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor < 0 || ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_ = errno;
};

/// A file size limit or a reader that went away is an error here, no signal that ends the program.
class NoWriteSignals {
 public:
  NoWriteSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    sigaddset(&signals_, SIGPIPE);
    sigpending(&pending_);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~NoWriteSignals() {
    for (const int signal : {SIGXFSZ, SIGPIPE}) {
      if (sigismember(&pending_, signal) == 0) discard(signal);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;

 private:
  static void discard(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    const timespec now{};
    sigtimedwait(&one, nullptr, &now);
  }

  sigset_t signals_{};
  sigset_t pending_{};
  sigset_t before_{};
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool write_new(const std::string& path, int flags, const std::string& text) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
  return file.valid() && write_all(file.get(), text) && file.close();
}

bool write_through_temporary(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  if (write_new(temporary, O_CREAT | O_TRUNC | O_NOFOLLOW, text) && rename(temporary.c_str(), path.c_str()) == 0) {
    return true;
  }
  const int error = errno;
  unlink(temporary.c_str());
  errno = error;
  return false;
}

/// A device, a pipe: written as it is, since renaming would replace it by a file.
bool is_special_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// Position of the extension of the last path component, or the end.
std::size_t extension_position(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos || dot <= start ? path.size() : dot;
}

/// True where `path` holds a report of this run already. to_json() puts the run's name near the top.
bool written_in_this_run(const std::string& path) {
  const char* run = std::getenv("BLASTOFF_RUN");
  if (run == nullptr || *run == '\0') return false;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, 4096> start{};
  const ssize_t length = file.valid() ? read(file.get(), start.data(), start.size()) : 0;
  if (length <= 0) return false;
  const std::string_view text(start.data(), static_cast<std::size_t>(length));
  return text.find(fmt::format("\"run\": \"{}\"", run)) != std::string_view::npos;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string expand_path(const std::string& pattern, const Context& context) {
  std::string path;
  bool distinct = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char specifier = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (specifier) {
      case 'p': path += std::to_string(context.pid); break;
      case 'r': path += std::to_string(context.rank < 0 ? 0 : context.rank); break;
      case 'h': path += context.host; break;
      case '%': path += '%'; break;
      default: path += pattern[i]; continue;
    }
    distinct = distinct || specifier == 'p' || specifier == 'r';
    ++i;
  }
  if (distinct || is_special_file(path)) return path;
  const auto insert = [&path](int number) {
    return std::string(path).insert(extension_position(path), fmt::format(".{}", number));
  };
  if (context.rank >= 0) path = insert(context.rank);
  return written_in_this_run(path) ? insert(context.pid) : path;
}

bool write_file(const std::string& path, const std::string& text) {
  const KeepErrno keep_errno;
  const NoWriteSignals no_signals;
  const bool written = is_special_file(path) ? write_new(path, 0, text) : write_through_temporary(path, text);
  if (!written) {
    std::array<char, 128> cause{};
    platform::log_line("cannot write the report %.400s: %s", path.c_str(),
                       strerror_r(errno, cause.data(), cause.size()));
  }
  return written;
}

bool write_report(const std::string& pattern, const std::string& text, const Context& context) {
  const KeepErrno keep_errno;
  // The lock ends with the descriptor. Where the file system has no locks, processes that end together may meet.
  const Descriptor directory(open(directory_of(pattern).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) flock(directory.get(), LOCK_EX);
  return write_file(expand_path(pattern, context), text);
}

}  // namespace blastoff::report
