#include "report/wall_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

namespace blastoff::report {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Waits until the clock has advanced by some microseconds.
void pass_time() {
  const auto begin = Clock::now();
  while (seconds_since(begin) < 20e-6) {
  }
}

/// The address of a frame; a frame further up the stack has a higher address.
const void* frame(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

class WallTimeTest : public testing::Test {
 protected:
  void SetUp() override { forget_calls(); }
  void TearDown() override { forget_calls(); }
};

CallTime one_call(std::uintptr_t address = 1000) {
  const CallBegin begin = begin_call(frame(address));
  pass_time();
  return end_call(begin);
}

TEST_F(WallTimeTest, OfOneThreadIsWhatItsCallsTake) {
  const CallTime time = one_call();
  EXPECT_GT(time.elapsed, 0);
  EXPECT_DOUBLE_EQ(time.wall, time.elapsed);
  EXPECT_EQ(time.share, 1);
  EXPECT_TRUE(time.whole);
}

TEST_F(WallTimeTest, OfThreadsThatCallAtOnceAddsUpToTheTimeInWhichAnyDoes) {
  constexpr int number = 4;
  std::barrier all_are(number);
  std::array<CallTime, number> times{};
  std::array<Clock::time_point, number> begun{};
  std::array<Clock::time_point, number> ended{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < number; ++t) {
    threads.emplace_back([&, t] {
      begun[t] = Clock::now();
      const CallBegin begin = begin_call(frame(1000));
      all_are.arrive_and_wait();  // inside
      pass_time();
      all_are.arrive_and_wait();
      times[t] = end_call(begin);
      ended[t] = Clock::now();
    });
  }
  for (std::thread& thread : threads) thread.join();
  double wall = 0;
  for (const CallTime& time : times) {
    wall += time.wall;
    EXPECT_LT(time.share, 1);
  }
  const std::chrono::duration<double> any = *std::ranges::max_element(ended) - *std::ranges::min_element(begun);
  EXPECT_LE(wall, any.count());
  double longest = 0;
  for (const CallTime& time : times) longest = std::max(longest, time.elapsed);
  EXPECT_GE(wall, 0.9 * longest);
}

TEST_F(WallTimeTest, OfACallIsWithoutThoseInsideIt) {
  const CallBegin outer = begin_call(frame(1000));
  pass_time();
  const CallTime inner = one_call(900);
  const CallTime time = end_call(outer);
  EXPECT_FALSE(time.whole);
  EXPECT_TRUE(inner.inside);
  EXPECT_FALSE(time.inside);
  EXPECT_DOUBLE_EQ(inner.wall, inner.elapsed);
  EXPECT_NEAR(time.wall, time.elapsed - inner.elapsed, 1e-9);
  EXPECT_EQ(time.share, 1);
}

TEST_F(WallTimeTest, ACallThatWasLeftCountsUntilTheNextOne) {
  begin_call(frame(1000));  // a longjmp
  EXPECT_EQ(one_call(2000).share, 1);
  std::thread([] { EXPECT_EQ(one_call().share, 1); }).join();
}

TEST_F(WallTimeTest, AThreadThatEndsIsInNoCall) {
  std::thread([] {
    begin_call(frame(1000));
    leave_calls();
  }).join();
  EXPECT_EQ(one_call().share, 1);
}

TEST_F(WallTimeTest, WhatRecordingTakesIsPaidByTheNextCallOrByTheOneAroundIt) {
  const CallTime first = one_call();
  pass_time();
  recorded_since(first.ended);
  const CallTime second = one_call();
  EXPECT_GE(second.wall, second.elapsed + 20e-6);
  EXPECT_DOUBLE_EQ(one_call().recording_inside, 0);
  const CallBegin outer = begin_call(frame(1000));
  const CallTime inner = one_call(900);
  add_ours(0.5);
  pass_time();
  recorded_since(inner.ended);
  const CallTime time = end_call(outer);
  EXPECT_GE(time.recording_inside, 20e-6);
  EXPECT_DOUBLE_EQ(time.ours_inside, 0.5 + time.recording_inside);
  EXPECT_LE(time.recording_inside, time.wall);
}

}  // namespace
}  // namespace blastoff::report
