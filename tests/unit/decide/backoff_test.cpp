#include "decide/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace blastoff::decide {
namespace {

std::int64_t calls_until_a_trial(Backoff& backoff) {
  std::int64_t calls = 0;
  while (!backoff.may_try()) ++calls;
  return calls;
}

TEST(Backoff, DoublesThePauseUpToALongestOne) {
  Backoff backoff;
  EXPECT_EQ(calls_until_a_trial(backoff), 0);
  for (std::int64_t pause = Backoff::first_pause; pause <= 2 * Backoff::longest_pause; pause *= 2) {
    backoff.failed();
    EXPECT_EQ(calls_until_a_trial(backoff), std::min(pause, Backoff::longest_pause));
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

TEST(Backoff, PausesForAsLongAsIsAskedFor) {
  Backoff backoff;
  backoff.failed(10'000);
  EXPECT_EQ(calls_until_a_trial(backoff), 10'000);
}

}  // namespace
}  // namespace blastoff::decide
