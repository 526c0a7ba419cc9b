#include "abi/reentry.h"

#include <gtest/gtest.h>

#include <alloca.h>
#include <ucontext.h>

#include <array>
#include <csetjmp>
#include <stdexcept>
#include <thread>

namespace blastoff {
namespace {

using abi::inside_original;
using abi::run_as_original;

[[gnu::noinline]] bool inside_seen_from_below() {
  return inside_original();
}

/// Calls inside_original() from a frame that begins `bytes` deeper; the memory in between is left unchanged.
[[gnu::noinline]] bool inside_seen_from_deep_below(std::size_t bytes) {
  auto* const space = static_cast<volatile char*>(alloca(bytes));
  space[0] = 1;
  return inside_seen_from_below();
}

[[gnu::noinline]] void nest() {
  run_as_original([] { EXPECT_TRUE(inside_seen_from_below()); });
  EXPECT_TRUE(inside_seen_from_below());
}

TEST(Reentry, LastsAsLongAsTheOutermost) {
  EXPECT_FALSE(inside_original());
  for (int time = 0; time < 3; ++time)
    run_as_original([] {
      EXPECT_TRUE(inside_seen_from_below());
      nest();
      EXPECT_TRUE(inside_seen_from_below());
      for (std::size_t bytes = 64; bytes < 65536; bytes *= 2) EXPECT_TRUE(inside_seen_from_deep_below(bytes));
    });
  EXPECT_FALSE(inside_seen_from_below());
}

TEST(Reentry, IsOfOneThread) {
  bool inside = true;
  run_as_original([&] { std::thread([&] { inside = inside_seen_from_below(); }).join(); });
  EXPECT_FALSE(inside);
}

std::jmp_buf escape;

/// An original whose error handler does not return.
[[gnu::noinline]] void leave_by_longjmp() {
  if (setjmp(escape) != 0) return;
  run_as_original([] {
    EXPECT_TRUE(inside_seen_from_below());
    std::longjmp(escape, 1);
  });
}

[[gnu::noinline]] void leave_by_exception() {
  try {
    run_as_original([] { throw std::runtime_error("illegal value"); });
  } catch (const std::runtime_error&) {
    return;
  }
  ADD_FAILURE();
}

[[gnu::noinline]] bool inside_during_a_later_call() {
  const bool before = inside_original();
  bool during = false;
  run_as_original([&] { during = inside_seen_from_below(); });
  return before || !during;
}

TEST(Reentry, IsForgottenAfterLongjmp) {
  leave_by_longjmp();
  EXPECT_FALSE(inside_original());
  leave_by_longjmp();
  EXPECT_FALSE(inside_during_a_later_call());
  EXPECT_FALSE(inside_original());
}

TEST(Reentry, IsForgottenByDeeperFramesAsWell) {
  for (std::size_t bytes = 16; bytes < 100000; bytes += bytes / 8 + 16) {
    leave_by_longjmp();
    EXPECT_FALSE(inside_seen_from_deep_below(bytes)) << bytes;
    leave_by_exception();
    EXPECT_FALSE(inside_seen_from_deep_below(bytes)) << bytes;
  }
}

ucontext_t outside;
ucontext_t coroutine;

/// An original whose error handler abandons its stack.
void leave_by_switching() {
  run_as_original([] { swapcontext(&coroutine, &outside); });
}

bool seen_by_coroutine = true;

void look_from_coroutine() {
  seen_by_coroutine = inside_seen_from_below();
}

void run_on(std::array<char, 1 << 16>& stack, void (*body)()) {
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack.data();
  coroutine.uc_stack.ss_size = stack.size();
  coroutine.uc_link = &outside;
  makecontext(&coroutine, body, 0);
  swapcontext(&outside, &coroutine);
}

TEST(Reentry, IsOfOneStack) {
  static std::array<std::array<char, 1 << 16>, 3> stacks;
  for (const std::size_t left : {0, 1, 2})
    for (const std::size_t looking : {0, 1, 2}) {
      run_on(stacks[left], &leave_by_switching);
      run_on(stacks[looking], &look_from_coroutine);
      EXPECT_FALSE(seen_by_coroutine) << left << looking;
      run_on(stacks[left], &leave_by_switching);
      EXPECT_FALSE(inside_seen_from_below());
    }
}

}  // namespace
}  // namespace blastoff
