#include "intercept/exit_observer.h"

#include <atomic>

#include "intercept/loading/redirection.h"

namespace blastoff::intercept {
namespace {

std::atomic<void*> original_exit{nullptr};
std::atomic<void (*)()> exit_observer{nullptr};

[[noreturn]] void exit_hook(int status) {
  exit_observer.load()();
  reinterpret_cast<void (*)(int)>(original_exit.load(std::memory_order_acquire))(status);
  __builtin_unreachable();
}

}  // namespace

bool observe_exit(void (*observer)()) {
  exit_observer = observer;
  static const bool redirected = redirect("exit", reinterpret_cast<const void*>(&exit_hook), original_exit);
  return redirected;
}

}  // namespace blastoff::intercept
