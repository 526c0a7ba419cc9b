#include "report/special_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "report/output.h"

namespace blastoff::report {

namespace {

constexpr int write_only = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

/// The descriptor of this process that the path names.
std::optional<int> named_descriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int number = -1;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && rest == digits.data() + digits.size() && number >= 0) return number;
  }
  return std::nullopt;
}

/// A file is continued at the program's current position. A pipe or terminal is opened again, so that only Blastoff's
/// descriptor is non-blocking; a socket cannot be opened again.
int open_descriptor(int number) {
  struct stat status {};
  if (fstat(number, &status) != 0) return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(number);
  const int anew = S_ISREG(status.st_mode) ? -1 : open(path.c_str(), write_only);
  return anew >= 0 ? anew : fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

bool is_special(const struct stat& status) {
  return S_ISFIFO(status.st_mode) ? trusts(status.st_uid) : !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// The status of the file to which the path leads, unless another user has made the link.
bool look_at(const std::string& path, struct stat& status) {
  if (lstat(path.c_str(), &status) != 0) return false;
  return !S_ISLNK(status.st_mode) || (trusts(status.st_uid) && stat(path.c_str(), &status) == 0);
}

int open_special(const std::string& path) {
  struct stat status {};
  if (!look_at(path, status)) return -1;
  // A report is never written to a disk device, whoever owns it.
  errno = EINVAL;
  return S_ISBLK(status.st_mode) ? -1 : open(path.c_str(), write_only);
}

/// Checks again after opening, since the file may have been replaced meanwhile.
bool still_special(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return false;
  errno = EPERM;
  return is_special(status);
}

}  // namespace

bool trusts(uid_t owner) {
  return owner == 0 || owner == geteuid();
}

bool is_special_file(const std::string& path) {
  struct stat status {};
  return named_descriptor(path).has_value() || (look_at(path, status) && is_special(status));
}

bool write_special_file(const std::string& path, const std::string& text) {
  const std::optional<int> number = named_descriptor(path);
  Output output(number ? open_descriptor(*number) : open_special(path));
  if (!output.valid() || (!number && !still_special(output.get()))) return false;
  return output.write(text) && output.close();
}

}  // namespace blastoff::report
