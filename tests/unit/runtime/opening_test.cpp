// When the device is opened.
#include "runtime/opening.h"

#include <gtest/gtest.h>

namespace blastoff::runtime {
namespace {

TEST(Opening, ComesWithTheFirstCallWhereThatIsAskedFor) {
  EXPECT_EQ(Opening(config::StartMode::now, 4).answer(1e-6), Opening::Answer::now);
}

TEST(Opening, WaitsUntilTheCpuHasSpentAsMuchAsTells) {
  Opening opening(config::StartMode::background, 4);
  int calls = 0;
  while (opening.answer(0.01) == Opening::Answer::not_yet && calls < 1000) {
    opening.add_spent({0.04, 0.04}, Opening::added_by_this_thread());
    ++calls;
  }
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::in_background);
  EXPECT_EQ(calls, 7) << "three quarters of 0.35 s";
  EXPECT_FALSE(opening.waits_for_kernels(0.01));
  EXPECT_TRUE(opening.waits_for_kernels(0.1));
}

TEST(Opening, ComesLaterWhereItTakesLonger) {
  Opening opening(config::StartMode::background, 4);
  opening.expect(2);
  opening.add_spent({1.4, 1.4}, Opening::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::not_yet);
  opening.add_spent({0.2, 0.2}, Opening::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::in_background);
}

TEST(Opening, CallsInsideACallCountOnce) {
  Opening opening(config::StartMode::background, 4);
  const Opening::Spent before = Opening::added_by_this_thread();
  for (int inner = 0; inner < 2; ++inner) opening.add_spent({0.1, 0.1}, Opening::added_by_this_thread());
  opening.add_spent({0.24, 0.24}, before);
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::not_yet);
  opening.add_spent({0.03, 0.03}, Opening::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::in_background);
}

TEST(Opening, OneThreadOnTwoCoresLeavesOneIdle) {
  Opening opening(config::StartMode::background, 2);
  opening.add_spent({0.3, 0.303}, Opening::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::in_background);
}

TEST(Opening, IsWaitedForWhereTheProgramLeavesNoCoreIdle) {
  Opening opening(config::StartMode::background, 4);
  opening.add_spent({0.2, 0.7}, Opening::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::not_yet);
  opening.add_spent({0.2, 0.7}, Opening::added_by_this_thread());
  EXPECT_EQ(opening.answer(0.01), Opening::Answer::now);
  EXPECT_TRUE(opening.waits_for_kernels(0.01));
}

TEST(Opening, IsWaitedForByACallThatTakesLonger) {
  const Opening opening(config::StartMode::background, 4);
  EXPECT_EQ(opening.answer(0.3), Opening::Answer::not_yet);
  EXPECT_EQ(opening.answer(0.4), Opening::Answer::now);
}

}  // namespace
}  // namespace blastoff::runtime
