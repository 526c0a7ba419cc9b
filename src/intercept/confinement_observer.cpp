#include "intercept/confinement_observer.h"

#include <atomic>

#include "intercept/loading/redirection.h"
#include "intercept/tail_call.h"
#include "platform/confinement.h"
#include "platform/errno_guard.h"

namespace blastoff::intercept {
namespace {

using Prctl = int (*)(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
using Syscall = long (*)(long number, long a, long b, long c, long d, long e, long f);

constinit std::atomic<void*> original_prctl{nullptr};
constinit std::atomic<void*> original_syscall{nullptr};
constinit std::atomic<void (*)()> confinement_observer{nullptr};

[[gnu::noinline]] void tell() {
  const platform::ErrnoGuard errno_stays;
  confinement_observer.load()();
}

// Variable arguments are declared as fixed ones, which are passed in the same places. The jumps leave the stack as the
// caller left it: a system call may return on another one.

BLASTOFF_TAIL_CALLING int prctl_hook(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (platform::requests_filter(option, a, b)) tell();
  BLASTOFF_TAIL_CALL reinterpret_cast<Prctl>(original_prctl.load(std::memory_order_acquire))(option, a, b, c, d);
}

BLASTOFF_TAIL_CALLING long syscall_hook(long number, long a, long b, long c, long d, long e, long f) {
  if (platform::requests_filter_by_number(number, a, b, c)) tell();
  BLASTOFF_TAIL_CALL reinterpret_cast<Syscall>(original_syscall.load(std::memory_order_acquire))(number, a, b, c, d, e,
                                                                                                 f);
}

}  // namespace

void observe_confinement(void (*observer)()) {
  confinement_observer = observer;
  redirect("prctl", reinterpret_cast<const void*>(&prctl_hook), original_prctl);
  redirect("syscall", reinterpret_cast<const void*>(&syscall_hook), original_syscall);
}

}  // namespace blastoff::intercept
