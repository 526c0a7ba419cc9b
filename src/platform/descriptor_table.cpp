#include "platform/descriptor_table.h"

#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace blastoff::platform {
namespace {

// A system call, since the C library has a function for it only from 2.34 on.
bool close_numbers(unsigned first, unsigned last, unsigned flags) {
  return syscall(SYS_close_range, first, last, flags) == 0;
}

}  // namespace

bool leave_shared_descriptors(int kept) {
  const auto number = static_cast<unsigned>(kept);
  // From Linux 5.9 on. The descriptors above `kept` are then not even copied.
  if (!close_numbers(number + 1, ~0U, CLOSE_RANGE_UNSHARE)) return false;
  if (number > 0) close_numbers(0, number - 1, 0);
  return true;
}

}  // namespace blastoff::platform
