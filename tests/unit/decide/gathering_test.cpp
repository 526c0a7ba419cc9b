// The decision whether one rank solves a problem for all ranks.
#include "decide/gathering.h"

#include <gtest/gtest.h>

#include <array>

#include "blas_front_end.h"
#include "product_call.h"

namespace blastoff::decide {
namespace {

/// Any operation whose family the model knows; only its work and its matrices matter.
operation::Operation problem() {
  static std::array<char, 3> memory;
  return test::product_call({&memory[0], &memory[1], &memory[2]}, 10000, 10000, 10000);
}

class Gathering : public testing::Test {
 protected:
  Gathering() {
    model_.to_device = model_.from_device = 1e11;
    model_.device_rates.set(key_, std::array{RatePoint{1e9, 1e12}});  // 2 seconds
    model_.cpu_rates.set(key_, std::array{RatePoint{1e9, 2e10}});     // 100 seconds, 80 at best
  }
  bool pays(double moving, int ranks, double together = 0) const {
    if (together == 0) together = min_seconds_together(model_, problem(), ranks);
    return gathering_pays(model_, {.solve = problem(), .ranks = ranks, .moving = moving}, together);
  }

  const RateKey key_{Family::gemm, Precision::d};
  MachineModel model_;
};

TEST_F(Gathering, PaysWhereItTakesLessThanHalfTheTime) {
  EXPECT_TRUE(pays(1, 1));
  EXPECT_TRUE(pays(1, 12));
  EXPECT_FALSE(pays(1, 14)) << "2 x 3 seconds, and 80 / 14";
}

TEST_F(Gathering, CountsTheTimeOfMovingBetweenRanks) {
  EXPECT_TRUE(pays(5, 5));
  EXPECT_FALSE(pays(7, 5)) << "2 x 9 seconds, and 80 / 5";
}

TEST_F(Gathering, TakesAnUnknownCpuForAFastOne) {
  model_.cpu_rates = {};
  model_.cpu_flops = 1e11;  // 20 seconds
  EXPECT_TRUE(pays(1, 3));
  EXPECT_FALSE(pays(1, 4));
}

TEST_F(Gathering, GoesByWhatTheRanksHaveTakenTogether) {
  EXPECT_TRUE(pays(1, 14, 8)) << "2 x 3 seconds";
  EXPECT_FALSE(pays(1, 1, 5));
}

TEST(SharedMemoryRate, IsSupposedUntilALargeCopyShowsIt) {
  SharedMemoryRate rate;
  EXPECT_EQ(rate.bytes_per_second(4), 8e9);
  EXPECT_EQ(rate.bytes_per_second(64), 16e9) << "the node's memory";
  rate.learn(4, 1e6, 1);
  rate.learn(4, 1e9, 0);
  EXPECT_EQ(rate.bytes_per_second(4), 8e9) << "a small copy, and one without a time";
  rate.learn(4, 4e9, 1);
  EXPECT_EQ(rate.bytes_per_second(4), 4e9);
  EXPECT_EQ(rate.bytes_per_second(64), 8e9) << "as much less";
  rate.learn(4, 12e9, 1);
  EXPECT_EQ(rate.bytes_per_second(4), 8e9) << "the mean with what was known";
}

TEST(TimesTogether, AreTheLeastOfEachProblem) {
  TimesTogether times;
  EXPECT_EQ(times.min_seconds(problem(), 4), 0);
  times.learn(problem(), 4, 2);
  times.learn(problem(), 4, 1);
  times.learn(problem(), 4, 3);
  times.learn(problem(), 16, 0.5);
  EXPECT_EQ(times.min_seconds(problem(), 4), 1);
  EXPECT_EQ(times.min_seconds(problem(), 16), 0.5);
  EXPECT_EQ(times.count(problem(), 4), 3);
  for (int ranks = 100; ranks < 3000; ++ranks) times.learn(problem(), ranks, 1);
  EXPECT_EQ(times.min_seconds(problem(), 2999), 1) << "however many there were";
}

TEST(TimesTogether, AreEstimatedFromTheNearestSize) {
  TimesTogether times;
  const auto of_work = [](double factor) {
    operation::Operation other = problem();
    other.work.flops *= factor;
    return other;
  };
  times.learn(problem(), 4, 1);
  EXPECT_EQ(times.min_seconds(of_work(2), 4), 2);
  EXPECT_EQ(times.min_seconds(of_work(0.5), 4), 0.5);
  EXPECT_EQ(times.count(of_work(2), 4), 0);
  EXPECT_EQ(times.min_seconds(of_work(9), 4), 0) << "too far away";
  EXPECT_EQ(times.min_seconds(of_work(2), 3), 0);
  times.learn(of_work(4), 4, 10);
  EXPECT_EQ(times.min_seconds(of_work(3), 4), 7.5);
}

TEST_F(Gathering, GoesByWhatItHasTakenOnceItWasMeasuredTwice) {
  const operation::Operation solve = problem();
  const WholeCall call{.solve = solve, .ranks = 4, .moving = 1};
  GatheringRule rule;
  EXPECT_NEAR(rule.seconds_together(model_, call), 20, 1e-5);
  EXPECT_TRUE(rule.pays(model_, call)) << "2 x 3 seconds, and 20";
  rule.learn_gathered(call, 30);
  EXPECT_TRUE(rule.pays(model_, call)) << "the first time, everything is new";
  rule.learn_gathered(call, 21);
  EXPECT_FALSE(rule.pays(model_, call)) << "21 seconds, and 20";
  rule.learn_together(call, 22);
  EXPECT_TRUE(rule.pays(model_, call)) << "21 seconds, and 22, without the factor";
}

TEST_F(Gathering, MayPayUntilTheRanksHaveShownTheirTime) {
  const operation::Operation solve = problem();
  const WholeCall call{.solve = solve, .ranks = 20, .moving = 1};
  GatheringRule rule;
  EXPECT_FALSE(rule.pays(model_, call)) << "2 x 3 seconds, and 4";
  EXPECT_TRUE(rule.may_pay(model_, call)) << "2 x 3 seconds, and 64 at most";
  rule.learn_together(call, 5);
  EXPECT_FALSE(rule.may_pay(model_, call));
  EXPECT_FALSE(rule.pays(model_, call));
  rule.learn_copy(20, 8e9, 1);
  EXPECT_EQ(rule.moving_seconds(8e9, 20, true), 1);
  EXPECT_EQ(rule.moving_seconds(8e9, 20, false), 8);
}

TEST_F(Gathering, DoesNotPayOnAnUnknownDevice) {
  model_.device_rates = {};
  EXPECT_FALSE(pays(1, 1));
}

}  // namespace
}  // namespace blastoff::decide
