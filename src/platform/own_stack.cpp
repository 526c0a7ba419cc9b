#include "platform/own_stack.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace blastoff::platform {
namespace {

/// Returns {1, 1}, which is empty, for the main thread.
Span find_own_stack() {
  pthread_attr_t attributes;
  if (syscall(SYS_gettid) == getpid() || pthread_getattr_np(pthread_self(), &attributes) != 0) return {1, 1};
  void* low = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {begin, begin + bytes};
}

}  // namespace

bool on_own_stack(Span span) {
  [[gnu::tls_model("initial-exec")]] constinit thread_local Span stack{};
  if (stack.end == 0) stack = find_own_stack();
  return stack.contains(span);
}

}  // namespace blastoff::platform
