#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "decide/backoff.h"
#include "decide/ski_rental.h"

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

TEST(SkiRental, BuysWhenTheRentsHaveReachedThePrice) {
  SkiRental skis;
  for (int day = 1; day <= 9; ++day) EXPECT_FALSE(skis.worth_buying(7, 1, 10));
  EXPECT_FALSE(skis.worth_buying(8, 1, 10)) << "another pair";
  EXPECT_TRUE(skis.worth_buying(7, 1, 10));
  EXPECT_FALSE(skis.worth_buying(7, 1, 10)) << "its losses are forgotten";
}

TEST(SkiRental, BuysAtLastHoweverManyThingsThereAre) {
  SkiRental skis;
  double paid = 0;
  double lost = 0;
  for (std::uint64_t use = 0; use < 100'000; ++use) {
    lost += 1;
    if (skis.worth_buying((use % 5000 + 1) * 0x9e3779b97f4a7c15U, 1, 10)) paid += 10;
  }
  EXPECT_GT(paid, 0.5 * lost);
  EXPECT_LE(paid, lost);
}

}  // namespace
}  // namespace blastoff::decide
