// The moment at which the device is opened.
#include "runtime/open_policy.h"

#include <gtest/gtest.h>

namespace blastoff::runtime {
namespace {

bool idle() {
  return true;
}

bool busy() {
  return false;
}

TEST(OpenPolicy, ComesWithTheFirstCallWhereThatIsAskedFor) {
  EXPECT_EQ(OpenPolicy(config::StartMode::now).answer(1e-6, idle), OpenPolicy::Answer::now);
  EXPECT_TRUE(OpenPolicy(config::StartMode::now).waits_for_kernels(1e-6));
}

TEST(OpenPolicy, WaitsUntilTheCpuHasSpentAsMuchAsTells) {
  OpenPolicy opening(config::StartMode::background);
  int calls = 0;
  while (opening.answer(0.01, idle) == OpenPolicy::Answer::not_yet && calls < 1000) {
    opening.add_spent({.seconds = 0.04}, OpenPolicy::added_by_this_thread());
    ++calls;
  }
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::in_background);
  EXPECT_EQ(calls, 9) << "three quarters of 0.35 s for opening and 0.12 s for closing";
}

TEST(OpenPolicy, DoesNotComeWhereTheDeviceGainsLess) {
  OpenPolicy opening(config::StartMode::background);
  opening.add_spent({.seconds = 2, .flops = 1, .on_device = 1.8}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::not_yet);
  opening.add_spent({.seconds = 2, .flops = 1, .on_device = 1.8}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, ACallThatWaitsForOthersTakesTwiceTheTimeOfTheCpuAtMost) {
  const OpenPolicy opening(config::StartMode::background);
  EXPECT_DOUBLE_EQ(opening.longest_queue(2), 1 - opening.price().own);
  EXPECT_EQ(opening.longest_queue(0.1), 0);
}

TEST(OpenPolicy, ComesLaterWhereItTakesLonger) {
  OpenPolicy opening(config::StartMode::background);
  opening.expect(2);
  opening.add_spent({.seconds = 1.4}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::not_yet);
  opening.add_spent({.seconds = 0.2}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, ComesLaterWhereManyRanksWouldWaitForIt) {
  OpenPolicy opening(config::StartMode::background, 16);
  opening.expect(0.35);
  opening.add_spent({.seconds = 0.5}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, busy), OpenPolicy::Answer::not_yet);
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::in_background) << "an idle core opens it for nothing";
  opening.add_spent({.seconds = 2}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, busy), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, CallsInsideACallCountOnce) {
  OpenPolicy opening(config::StartMode::background);
  opening.expect(0.35);
  const SpentOnCpu before = OpenPolicy::added_by_this_thread();
  for (int inner = 0; inner < 2; ++inner) opening.add_spent({.seconds = 0.1}, OpenPolicy::added_by_this_thread());
  opening.add_spent({.seconds = 0.24}, before);
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::not_yet);
  opening.add_spent({.seconds = 0.03}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, LooksAtPostponedCallsAsWholes) {
  OpenPolicy opening(config::StartMode::background, 16);
  {
    const OpenPolicy::PostponedCall call;
    opening.add_spent({.seconds = 5}, OpenPolicy::added_by_this_thread());
    EXPECT_EQ(opening.answer(5, idle), OpenPolicy::Answer::not_yet) << "this is a part of it";
  }
  EXPECT_EQ(opening.answer(0.1, idle), OpenPolicy::Answer::not_yet);
  opening.add_spent({.seconds = 0.5, .flops = 1, .on_device = 0.1}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.1, idle), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, IsWaitedForByACallThatTheCpuCannotMakeInTwiceThatTime) {
  OpenPolicy opening(config::StartMode::background);
  opening.expect(0.35);
  EXPECT_EQ(opening.answer(0.6, idle), OpenPolicy::Answer::not_yet);
  EXPECT_EQ(opening.answer(0.8, idle), OpenPolicy::Answer::now);
  opening.add_spent({.seconds = 0.6}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.6, idle), OpenPolicy::Answer::in_background);
  EXPECT_FALSE(opening.waits_for_kernels(0.1));
  EXPECT_TRUE(opening.waits_for_kernels(0.15));
}

TEST(OpenPolicy, BeginsWithTheFirstCallWhereEarlierRunsGained) {
  OpenPolicy opening(config::StartMode::background);
  opening.expect(0.35);
  opening.foresee(OpenPolicy::Foresight::gains, 1);
  EXPECT_EQ(opening.answer(1e-3, idle), OpenPolicy::Answer::in_background);
  EXPECT_FALSE(opening.waits_for_kernels(1e-3)) << "no call waits that the CPU makes sooner";
  EXPECT_EQ(opening.answer(0.8, idle), OpenPolicy::Answer::now);
}

TEST(OpenPolicy, ComesAfterAllThatEarlierRunsComputedWhereTheyLost) {
  OpenPolicy opening(config::StartMode::background);
  opening.expect(0.35);
  opening.foresee(OpenPolicy::Foresight::loses, 0.8);
  opening.add_spent({.seconds = 0.95}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.9, idle), OpenPolicy::Answer::not_yet) << "the CPU takes a quarter longer now and then";
  EXPECT_EQ(opening.answer(1.1, idle), OpenPolicy::Answer::now) << "a call that no earlier run made";
  opening.add_spent({.seconds = 0.1}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01, idle), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, ComesNoSoonerWhereEarlierRunsLost) {
  OpenPolicy opening(config::StartMode::background);
  opening.expect(0.35);
  opening.foresee(OpenPolicy::Foresight::loses, 0.1);
  opening.add_spent({.seconds = 0.2}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.3, idle), OpenPolicy::Answer::not_yet);
  opening.add_spent({.seconds = 0.1}, OpenPolicy::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.3, idle), OpenPolicy::Answer::in_background);
}

TEST(OpenPolicy, OperationsOfCallsInsideACallCountOnce) {
  OpenPolicy opening(config::StartMode::background);
  const SpentOnCpu before = OpenPolicy::added_by_this_thread();
  opening.add_spent({.seconds = 0.3, .flops = 3e9, .on_device = 0.03}, before);
  opening.add_spent({.seconds = 0.4, .flops = 4e9, .on_device = 0.04}, before);
  EXPECT_NEAR(opening.spent().flops, 4e9, 1);
  EXPECT_NEAR(opening.spent().seconds, 0.4, 1e-9);
  EXPECT_NEAR(opening.spent().on_device, 0.04, 1e-9);
}

}  // namespace
}  // namespace blastoff::runtime
