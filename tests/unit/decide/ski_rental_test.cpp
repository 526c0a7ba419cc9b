#include "decide/ski_rental.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace blastoff::decide {
namespace {

TEST(SkiRental, BuysWhenTheRentsHaveReachedThePrice) {
  SkiRental skis;
  for (int day = 1; day <= 9; ++day) EXPECT_FALSE(skis.worth_buying(7, 1, 10));
  EXPECT_FALSE(skis.worth_buying(8, 1, 10)) << "another pair";
  EXPECT_TRUE(skis.worth_buying(7, 1, 10));
  EXPECT_FALSE(skis.worth_buying(7, 1, 10)) << "its losses are forgotten";
}

TEST(SkiRental, BuysEarlierWhatHasPaid) {
  SkiRental skis;
  for (int day = 0; day < 10; ++day) skis.worth_buying(7, 1, 10);
  for (int day = 0; day < 30; ++day) skis.used(7, 1);
  EXPECT_TRUE(skis.worth_buying(7, 1, 10));
  EXPECT_FALSE(skis.worth_buying(7, 1, 10)) << "it has not paid since";
}

TEST(SkiRental, CountsLossesThatAPurchaseHasNotUsedUp) {
  SkiRental skis;
  for (int day = 0; day < 5; ++day) EXPECT_FALSE(skis.worth_buying(7, 10, 100));
  EXPECT_TRUE(skis.worth_buying(7, 1, 5)) << "a part of it";
  for (int day = 0; day < 5; ++day) EXPECT_FALSE(skis.worth_buying(7, 10, 100));
  EXPECT_TRUE(skis.worth_buying(7, 10, 100));
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
