#include "platform/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace blastoff::platform {
namespace {

std::int64_t calls_until_a_trial(Backoff& backoff) {
  std::int64_t calls = 0;
  while (!backoff.may_try()) ++calls;
  return calls;
}

TEST(Backoff, DoublesThePauseUpToALimit) {
  Backoff backoff;
  EXPECT_EQ(calls_until_a_trial(backoff), 0);
  for (std::int64_t pause = Pauses{}.first; pause <= 2 * Pauses{}.max; pause *= 2) {
    backoff.failed();
    EXPECT_EQ(calls_until_a_trial(backoff), std::min(pause, Pauses{}.max));
    EXPECT_TRUE(backoff.may_try()) << "a trial of several calls";
  }
}

TEST(Backoff, BeginsAnewAfterATrialThatPaid) {
  Backoff backoff;
  backoff.failed();
  backoff.failed();
  backoff.succeeded();
  EXPECT_TRUE(backoff.may_try());
  backoff.failed();
  EXPECT_EQ(calls_until_a_trial(backoff), Pauses{}.first);
}

TEST(Backoff, BeginsWithThePauseThatItIsGiven) {
  Backoff backoff({.first = 16});
  for (const std::int64_t pause : {16, 32}) {
    backoff.failed();
    EXPECT_EQ(calls_until_a_trial(backoff), pause);
  }
}

TEST(Backoff, GrowsByTheFactorThatItIsGiven) {
  Backoff backoff({.first = 2, .max = 100, .growth = 8});
  for (const std::int64_t pause : {2, 16, 100, 100}) EXPECT_EQ(backoff.failed(), pause);
}

TEST(Backoff, CountsManyCallsAtOnceAndBeginsThePauseAgain) {
  Backoff backoff({.first = 16});
  backoff.failed();
  backoff.count(15);
  EXPECT_FALSE(backoff.is_over());
  backoff.restart();
  backoff.count(15);
  EXPECT_FALSE(backoff.is_over());
  backoff.count(8);
  EXPECT_TRUE(backoff.is_over());
}

TEST(Backoff, PausesForAsLongAsIsAskedFor) {
  Backoff backoff;
  backoff.failed(10'000);
  EXPECT_EQ(calls_until_a_trial(backoff), 10'000);
}

}  // namespace
}  // namespace blastoff::platform
