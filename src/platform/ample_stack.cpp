#include "platform/ample_stack.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "platform/confinement.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/span.h"

#if defined(__SANITIZE_ADDRESS__)
#define BLASTOFF_TELL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLASTOFF_TELL_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef BLASTOFF_TELL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace blastoff::platform {
namespace {

/// Number of stacks that are kept for later calls. Further calls make one each.
constexpr std::size_t max_kept = 16;
constexpr std::size_t stack_bytes = std::size_t{8} << 20;
/// If there is no memory for another stack, the caller's own stack serves if it has this much left.
constexpr std::size_t min_stack = std::size_t{64} << 10;
/// The size of a stack if address space is short.
constexpr std::size_t min_stack_bytes = std::size_t{512} << 10;

/// A stack made by Blastoff. This structure is at the upper end of its mapping; the lowest page is inaccessible.
struct Stack {
  Span mapping;
  ucontext_t caller{};
  ucontext_t own{};
  const Body* body = nullptr;
  bool ended = false;  ///< the body has run to its end

  Span room() const { return {mapping.begin + page_size(), reinterpret_cast<std::uintptr_t>(this)}; }
};

std::array<std::atomic<Stack*>, max_kept> kept{};

/// The stack made by Blastoff on which this thread runs; the innermost one if they are nested.
[[gnu::tls_model("initial-exec")]] constinit thread_local Span borrowed{};
/// The thread's own stack; empty until it has been found.
[[gnu::tls_model("initial-exec")]] constinit thread_local Span own_stack{};

Stack* make(std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (mprotect(memory, page_size(), PROT_NONE) != 0) {
    munmap(memory, bytes);
    return nullptr;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  constexpr std::uintptr_t alignment = 64;
  auto* const place = reinterpret_cast<void*>((begin + bytes - sizeof(Stack)) & ~(alignment - 1));
  auto* const stack = new (place) Stack;
  stack->mapping = {begin, begin + bytes};
  return stack;
}

// Takes no lock, since a forked child may find it taken.
Stack* take() {
  const ErrnoGuard errno_stays;
  for (std::atomic<Stack*>& place : kept)
    if (Stack* const stack = place.exchange(nullptr, std::memory_order_acquire)) return stack;
  Stack* const stack = make(stack_bytes);
  return stack != nullptr ? stack : make(min_stack_bytes);
}

void give_back(Stack* stack) {
  for (std::atomic<Stack*>& place : kept) {
    Stack* none = nullptr;
    if (place.compare_exchange_strong(none, stack, std::memory_order_release)) return;
  }
  const ErrnoGuard errno_stays;
  const Span mapping = stack->mapping;
  munmap(reinterpret_cast<void*>(mapping.begin), mapping.bytes());
}

// Tells AddressSanitizer, which keeps the bounds of the stack on which a thread runs.
void leave_for([[maybe_unused]] void** fake_stack, [[maybe_unused]] Span stack) {
#ifdef BLASTOFF_TELL_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, reinterpret_cast<const void*>(stack.begin), stack.bytes());
#endif
}

void arrive([[maybe_unused]] void* fake_stack, [[maybe_unused]] Span* left) {
#ifdef BLASTOFF_TELL_ADDRESS_SANITIZER
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &bottom, &bytes);
  if (left != nullptr)
    *left = {reinterpret_cast<std::uintptr_t>(bottom), reinterpret_cast<std::uintptr_t>(bottom) + bytes};
#endif
}

/// The address of the Stack comes in two halves, since makecontext() passes integers. Not instrumented: ThreadSanitizer
/// counts which functions a thread has entered and left, and this one is never left.
[[gnu::no_sanitize_thread]] void enter(unsigned high, unsigned low) {
  auto* const stack = reinterpret_cast<Stack*>(static_cast<std::uintptr_t>(high) << 32U | low);
  Span callers;
  arrive(nullptr, &callers);
  stack->ended = contained(*stack->body);
  leave_for(nullptr, callers);
  setcontext(&stack->caller);
}

bool run_on(Stack& stack, const Body& body) {
  const Span before = borrowed;
  stack.body = &body;
  getcontext(&stack.own);
  const Span room = stack.room();
  stack.own.uc_stack.ss_sp = reinterpret_cast<void*>(room.begin);
  stack.own.uc_stack.ss_size = room.bytes();
  stack.own.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(&stack);
  makecontext(&stack.own, reinterpret_cast<void (*)()>(&enter), 2, static_cast<unsigned>(address >> 32U),
              static_cast<unsigned>(address));
  borrowed = room;
  void* fake_stack = nullptr;
  leave_for(&fake_stack, room);
  swapcontext(&stack.caller, &stack.own);
  arrive(fake_stack, nullptr);
  borrowed = before;
  return stack.ended;
}

/// The range to which the kernel lets the main thread's stack grow, below what the kernel itself has put there. Asking
/// the C library would take a kilobyte of stack and read all mappings.
Span main_stack() {
  // An unlimited stack reaches down to the next mapping, far below, where stacks of coroutines may lie too.
  constexpr std::size_t deepest = std::size_t{128} << 20;
  rlimit limit{};
  const auto top = static_cast<std::uintptr_t>(getauxval(AT_EXECFN));
  if (top == 0 || getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  return {top - std::min<std::uintptr_t>(limit.rlim_cur, deepest), top};
}

Span thread_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t bytes = 0;
  std::size_t guard = 0;
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {begin + std::min(guard, bytes), begin + bytes};
}

/// Empty in a confined process, which cannot be asked.
Span find_own_stack() {
  if (confined()) return {};
  const ErrnoGuard errno_stays;
  return syscall(SYS_gettid) == getpid() ? main_stack() : thread_stack();
}

}  // namespace

bool on_stack_of_thread(const void* place) {
  if (own_stack.empty()) own_stack = find_own_stack();
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  return own_stack.begin < address && address < own_stack.end;
}

std::size_t stack_left() {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto left_of = [&](Span stack) { return here > stack.begin && here < stack.end ? here - stack.begin : 0; };
  if (const std::size_t left = left_of(borrowed); left > 0) return left;
  if (own_stack.empty()) own_stack = find_own_stack();
  return left_of(own_stack);
}

bool run_with_ample_stack(const Body& body) {
  if (confined() || stack_left() >= ample_stack) return contained(body);
  Stack* const stack = take();
  if (stack == nullptr) return stack_left() >= min_stack && contained(body);
  const bool ended = run_on(*stack, body);
  give_back(stack);
  return ended;
}

}  // namespace blastoff::platform
