#include "tracking/process_status.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "platform/descriptor.h"
#include "platform/errno_guard.h"

namespace blastoff::tracking {

namespace {

/// 0 where it cannot be read.
std::size_t number(const char* entry) {
  const platform::ErrnoGuard errno_stays;
  const platform::Descriptor status(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t bytes = read(status.get(), text, sizeof text - 1);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* line = std::strstr(text, entry);
  return line == nullptr ? 0 : std::strtoul(line + std::strlen(entry), nullptr, 10);
}

}  // namespace

std::size_t pinned_kilobytes() {
  return number("VmPin:");
}

std::size_t locked_kilobytes() {
  return number("VmLck:");
}

bool is_traced() {
  return number("TracerPid:") != 0;
}

}  // namespace blastoff::tracking
