#include "platform/confinement.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace blastoff::platform {

bool requests_filter(int option, unsigned long mode, unsigned long filter) {
  return option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0));
}

bool requests_filter_by_number(long number, long a, long b, long c) {
  if (number == SYS_prctl)
    return requests_filter(static_cast<int>(a), static_cast<unsigned long>(b), static_cast<unsigned long>(c));
  return number == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0));
}

}  // namespace blastoff::platform
