#include "platform/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace blastoff::platform {

namespace {

constinit bool stderr_is_open = true;

}  // namespace

void remember_stderr() {
  stderr_is_open = fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

void write_to_stderr(const char* text, std::size_t bytes) {
  if (!stderr_is_open) return;
  const int saved_errno = errno;
  while (bytes > 0) {
    const ssize_t written = write(STDERR_FILENO, text, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    bytes -= static_cast<std::size_t>(written);
  }
  errno = saved_errno;
}

void log_line(const char* format, ...) {
  constexpr char prefix[] = "blastoff: ";
  constexpr std::size_t prefix_length = sizeof prefix - 1;
  constexpr std::size_t longest = 1000;
  char line[prefix_length + longest + 1];
  std::memcpy(line, prefix, prefix_length);
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + prefix_length, longest + 1, format, arguments);
  va_end(arguments);

  std::size_t length = prefix_length + std::min(longest, static_cast<std::size_t>(std::max(wanted, 0)));
  line[length++] = '\n';
  write_to_stderr(line, length);
}

}  // namespace blastoff::platform
