#include "platform/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace blastoff::platform {

void log_line(const char* format, ...) {
  constexpr char prefix[] = "blastoff: ";
  constexpr std::size_t prefix_length = sizeof prefix - 1;
  constexpr std::size_t longest = 1000;
  const int saved_errno = errno;

  char line[prefix_length + longest + 1];
  std::memcpy(line, prefix, prefix_length);
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + prefix_length, longest + 1, format, arguments);
  va_end(arguments);

  std::size_t length = prefix_length + std::min(longest, static_cast<std::size_t>(std::max(wanted, 0)));
  line[length++] = '\n';
  while (write(STDERR_FILENO, line, length) < 0 && errno == EINTR) {
  }
  errno = saved_errno;
}

}  // namespace blastoff::platform
