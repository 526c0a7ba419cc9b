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
  for (std::int64_t pause = Backoff::first_pause; pause <= 2 * Backoff::max_pause; pause *= 2) {
    backoff.failed();
    EXPECT_EQ(calls_until_a_trial(backoff), std::min(pause, Backoff::max_pause));
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
  EXPECT_EQ(calls_until_a_trial(backoff), Backoff::first_pause);
}

TEST(Backoff, BeginsWithThePauseThatItIsGiven) {
  Backoff backoff(16);
  for (const std::int64_t pause : {16, 32}) {
    backoff.failed();
    EXPECT_EQ(calls_until_a_trial(backoff), pause);
  }
}

TEST(Backoff, PausesForAsLongAsIsAskedFor) {
  Backoff backoff;
  backoff.failed(10'000);
  EXPECT_EQ(calls_until_a_trial(backoff), 10'000);
}

}  // namespace
}  // namespace blastoff::platform
