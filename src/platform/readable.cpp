#include "platform/readable.h"

#include <cerrno>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_guard.h"

namespace blastoff::platform {
namespace {

/// The kernel reads the set of signals before it finds that the requested change is invalid. So nothing changes, and no
/// sandbox forbids the call.
bool set_of_signals_is_readable(std::uintptr_t aligned) {
  constexpr int no_such_change = -1;
  constexpr std::size_t set_bytes = 8;
  syscall(SYS_rt_sigprocmask, no_such_change, aligned, nullptr, set_bytes);
  return errno == EINVAL;
}

}  // namespace

bool is_readable(const void* place, std::size_t bytes) {
  const ErrnoGuard errno_stays;
  constexpr std::uintptr_t word = 8;
  const auto first = reinterpret_cast<std::uintptr_t>(place);
  const std::uintptr_t last = first + bytes - 1;
  return last >= first && set_of_signals_is_readable(first / word * word) &&
         set_of_signals_is_readable(last / word * word);
}

}  // namespace blastoff::platform
