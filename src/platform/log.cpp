#include "platform/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "platform/confinement.h"
#include "platform/errno_guard.h"
#include "platform/file_identity.h"
#include "platform/printable.h"

namespace blastoff::platform {

namespace {

constinit bool remembered = false;
constinit FileIdentity given;

}  // namespace

void remember_stderr() {
  given = file_identity(STDERR_FILENO);
  remembered = true;
}

void write_to_stderr(const char* text, std::size_t bytes) {
  if (confined()) return;
  const ErrnoGuard errno_stays;
  const bool ours = !remembered || (given.open && file_identity(STDERR_FILENO) == given);
  while (ours && bytes > 0) {
    const ssize_t written = write(STDERR_FILENO, text, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void log_line(const char* format, ...) {
  constexpr char prefix[] = "blastoff: ";
  constexpr std::size_t prefix_length = sizeof prefix - 1;
  constexpr std::size_t max_length = 1000;
  char line[prefix_length + max_length + 1];
  std::memcpy(line, prefix, prefix_length);
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + prefix_length, max_length + 1, format, arguments);
  va_end(arguments);

  std::size_t length = prefix_length + std::min(max_length, static_cast<std::size_t>(std::max(wanted, 0)));
  length = prefix_length + make_printable(line + prefix_length, length - prefix_length);
  line[length++] = '\n';
  write_to_stderr(line, length);
}

}  // namespace blastoff::platform
