#include "report/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "platform/errno_guard.h"
#include "platform/log.h"
#include "report/output.h"
#include "report/special_file.h"

namespace blastoff::report {

namespace {

/// Position of the extension in the last component of the path; the end if it has none.
std::size_t extension_position(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos || dot <= start ? path.size() : dot;
}

std::string before_extension(const std::string& path, const std::string& word) {
  return std::string(path).insert(extension_position(path), "." + word);
}

/// Whether the pattern has the specifier %`letter`.
bool specifies(const std::string& pattern, char letter) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i)
    if (pattern[i] == '%' && pattern[++i] == letter) return true;
  return false;
}

/// The names to try for a report, in order: its path; the path with the process id; the path with the id and a number,
/// because processes of several hosts may have the same id.
std::string candidate(const std::string& path, int pid, int attempt) {
  if (attempt == 0) return path;
  return before_extension(path, attempt == 1 ? std::to_string(pid) : fmt::format("{}-{}", pid, attempt));
}

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Like mkdir -p. A failure shows when the directory is used.
bool make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  errno = error.value();
  return !error;
}

/// The file that has the name intended for our report. Only a plain file of this user is opened, because it may be an
/// earlier report.
class Existing {
 public:
  explicit Existing(const std::string& path)
      : path_(path), there_(lstat(path.c_str(), &status_) == 0), file_(is_plain() ? open_plain() : -1) {}

  bool there() const { return there_; }
  bool is(const struct stat& other) const { return there_ && same_file(status_, other); }

  /// Whether another process of this run has written it, or this process before it executed another program. to_json()
  /// writes the keys that tell this near the top.
  bool is_of_another(const Context& context) const {
    std::string text(std::size_t{1} << 16, '\0');
    const ssize_t length = file_.valid() ? pread(file_.get(), text.data(), text.size(), 0) : 0;
    text.resize(static_cast<std::size_t>(length > 0 ? length : 0));
    const auto says = [&](const std::string& member) { return text.find(member) != std::string::npos; };
    const bool of_this_process =
        says(fmt::format("\"pid\": {},", context.pid)) && says(fmt::format("\"host\": \"{}\"", context.host));
    return says(fmt::format("\"run\": \"{}\"", context.run)) && !(of_this_process && says(R"("ended": "running")"));
  }

  /// If several processes end together, only one may replace the file. Returns false if another process is replacing
  /// it. On file systems without locks, two may do so.
  bool lock() {
    if (!file_.valid()) directory_.emplace(open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return flock(directory_ ? directory_->get() : file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  }

  bool is_still_there() const {
    struct stat now {};
    return lstat(path_.c_str(), &now) == 0 && same_file(status_, now);
  }

 private:
  bool is_plain() const { return there_ && S_ISREG(status_.st_mode) && status_.st_uid == geteuid(); }
  int open_plain() const {
    constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    const int file = open(path_.c_str(), O_RDWR | flags);  // a lock over NFS requires the right to write
    return file >= 0 ? file : open(path_.c_str(), O_RDONLY | flags);
  }

  const std::string& path_;
  struct stat status_ {};
  const bool there_;
  Output file_;
  std::optional<Output> directory_;
};

/// A new file with a random name beside the path. It is complete before it gets its final name.
class NewFile {
 public:
  NewFile(const std::string& path, const std::string& text) {
    for (int attempt = 0; attempt < 16; ++attempt) {
      name_ = fmt::format("{}.{:016x}.tmp", path, random_number());
      const int descriptor = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno == EEXIST) continue;
      created_ = descriptor >= 0;
      Output file(descriptor);
      written_ = file.valid() && file.write(text) && fstat(file.get(), &status_) == 0 && file.close();
      return;
    }
  }
  ~NewFile() {
    const platform::ErrnoGuard errno_stays;
    if (created_) unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool written() const { return written_; }
  const struct stat& status() const { return status_; }

  /// Gives the file this name if the name is free; else errno is EEXIST.
  bool take(const std::string& path) const { return link(name_.c_str(), path.c_str()) == 0; }

  /// Gives the file this name, and replaces whatever has it. A link is replaced, not followed.
  bool replace(const std::string& path) {
    created_ = rename(name_.c_str(), path.c_str()) != 0;
    return !created_;
  }

 private:
  static std::uint64_t random_number() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_nsec) << 32U ^ static_cast<std::uint64_t>(getpid());
  }

  std::string name_;
  struct stat status_ {};
  bool created_ = false;  ///< created, and still under its random name
  bool written_ = false;
};

enum class Naming { done, taken, failed };

/// Names the file `path`, unless another process of this run has taken that name. Never waits.
Naming name(NewFile& file, const std::string& path, const Context& context) {
  const auto done_if = [](bool right) { return right ? Naming::done : Naming::failed; };
  constexpr int attempts = 16;  // another process may be quicker in each of them
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (context.run.empty()) return done_if(file.replace(path));
    if (file.take(path)) return Naming::done;
    const bool can_link = errno == EEXIST;
    Existing existing(path);
    if (existing.is(file.status())) return Naming::done;  // NFS has linked it, but has not reported that in time
    if (existing.is_of_another(context)) return Naming::taken;
    if (existing.there() && !existing.lock()) return Naming::taken;
    if (!can_link || existing.is_still_there()) return done_if(file.replace(path));
  }
  return Naming::taken;
}

/// Returns the name of the file, or "" on failure.
std::string write_new_file(const std::string& path, const std::string& text, const Context& context) {
  NewFile file(path, text);
  Naming outcome = file.written() ? Naming::taken : Naming::failed;
  constexpr int names = 1000;
  std::string result;
  for (int attempt = 0; outcome == Naming::taken && attempt < names; ++attempt) {
    result = candidate(path, context.pid, attempt);
    outcome = name(file, result, context);
  }
  return outcome == Naming::done ? result : "";
}

const char* cause_of(int error, bool special, std::array<char, 128>& text) {
  if (special && error == ENXIO) return "the pipe has no reader";
  if (special && error == ETIMEDOUT) return "the pipe's reader took more than two seconds";
  return strerror_r(error, text.data(), text.size());
}

}  // namespace

const char* this_run() {
  const char* const run = secure_getenv("BLASTOFF_RUN");
  return run == nullptr ? "" : run;
}

std::string with_home(const std::string& path) {
  const char* const home = secure_getenv("HOME");
  const bool at_home = (path == "~" || path.starts_with("~/")) && home != nullptr && *home != '\0';
  return at_home ? home + path.substr(1) : path;
}

std::string report_pattern(const std::string& path, const std::string& extension) {
  if (path == "-") return "/dev/stdout";
  const platform::ErrnoGuard errno_stays;
  std::string pattern = with_home(path);
  struct stat status {};
  const bool directory = pattern.ends_with('/') || (stat(pattern.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
  if (!pattern.empty() && directory) pattern += (pattern.ends_with('/') ? "%h-%p" : "/%h-%p") + extension;
  return pattern;
}

std::string pattern_of_child(const std::string& pattern, const Context& context) {
  const bool of_process = specifies(pattern, 'p');
  if (of_process || is_special_file(pattern)) return pattern;
  const bool of_rank = context.rank >= 0 && !specifies(pattern, 'r');
  return before_extension(pattern, of_rank ? "%r.%p" : "%p");
}

std::string obstacle_to_report(const std::string& pattern, const Context& context) {
  const platform::ErrnoGuard errno_stays;
  const std::string path = expand_path(pattern, context);
  if (is_special_file(path)) return "";
  const std::string directory = directory_of(path);
  std::array<char, 128> cause{};
  if (make_directories(directory) && access(directory.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("{}: {}", directory, strerror_r(errno, cause.data(), cause.size()));
}

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
  if (distinct || context.rank < 0 || is_special_file(path)) return path;
  return before_extension(path, std::to_string(context.rank));
}

std::string report_path(const std::string& pattern, const Context& context) {
  const platform::ErrnoGuard errno_stays;
  const std::string path = expand_path(report_pattern(pattern), context);
  std::error_code error;
  return is_special_file(path) ? "" : std::filesystem::absolute(path, error).string();
}

bool write_report(const std::string& pattern, const std::string& text, const Context& context) {
  const platform::ErrnoGuard errno_stays;
  const NoWriteSignals no_signals;
  const std::string path = expand_path(report_pattern(pattern), context);
  const bool special = is_special_file(path);
  if (!special) make_directories(directory_of(path));
  const bool written = special ? write_special_file(path, text) : !write_new_file(path, text, context).empty();
  if (!written) {
    std::array<char, 128> cause{};
    platform::log_line("cannot write the report %.400s: %s", path.c_str(), cause_of(errno, special, cause));
  }
  return written;
}

bool replace_file(const std::string& path, const std::string& text) {
  const NoWriteSignals no_signals;
  if (!make_directories(directory_of(path))) return false;
  NewFile file(path, text);
  return file.written() && file.replace(path);
}

std::string begin_file(const std::string& pattern, const std::string& text, const Context& context) {
  const platform::ErrnoGuard errno_stays;
  const NoWriteSignals no_signals;
  const std::string path = expand_path(pattern, context);
  if (is_special_file(path)) return "";  // a file would replace the device or the pipe
  make_directories(directory_of(path));
  return write_new_file(path, text, context);
}

}  // namespace blastoff::report
