#include "abi/reentry.h"

#include <gtest/gtest.h>

#include <csetjmp>
#include <thread>

namespace blastoff {
namespace {

using abi::inside_original;
using abi::Reentry;

[[gnu::noinline]] bool inside_seen_from_below() {
  return inside_original();
}

[[gnu::noinline]] void nest() {
  {
    const Reentry inner;
    EXPECT_TRUE(inside_seen_from_below());
  }
  EXPECT_TRUE(inside_seen_from_below());
}

TEST(Reentry, LastsAsLongAsTheOutermost) {
  EXPECT_FALSE(inside_original());
  {
    const Reentry outer;
    EXPECT_TRUE(inside_seen_from_below());
    nest();
    EXPECT_TRUE(inside_seen_from_below());
  }
  EXPECT_FALSE(inside_seen_from_below());
}

TEST(Reentry, IsOfOneThread) {
  const Reentry outer;
  bool inside = true;
  std::thread([&] { inside = inside_seen_from_below(); }).join();
  EXPECT_FALSE(inside);
}

std::jmp_buf escape;

/// An original whose error handler does not return.
[[gnu::noinline]] void leave_by_longjmp() {
  const Reentry reentry;
  EXPECT_TRUE(inside_seen_from_below());
  std::longjmp(escape, 1);
}

[[gnu::noinline]] bool inside_during_a_later_call() {
  const bool before = inside_original();
  const Reentry reentry;
  return before || !inside_seen_from_below();
}

TEST(Reentry, IsForgottenAfterLongjmp) {
  if (setjmp(escape) == 0) leave_by_longjmp();
  EXPECT_FALSE(inside_original());
  if (setjmp(escape) == 0) leave_by_longjmp();
  EXPECT_FALSE(inside_during_a_later_call());
  EXPECT_FALSE(inside_original());
}

}  // namespace
}  // namespace blastoff
