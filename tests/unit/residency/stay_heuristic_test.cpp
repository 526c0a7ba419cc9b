#include "residency/mirror/stay_heuristic.h"

#include <gtest/gtest.h>

#include "blas/call.h"
#include "blas/front_end.h"
#include "residency/footprint.h"
#include "test_call.h"

namespace blastoff::residency::mirror {
namespace {

constexpr std::size_t result = 2;

/// A product, and the program that makes it again and again.
class StayHeuristicTest : public ::testing::Test {
 protected:
  /// Makes the call once. Returns whether its result has stayed.
  bool call() {
    const bool stays = heuristic_.worth_leaving(operation_, result);
    heuristic_.used(operation_, result, stays);
    return stays;
  }
  int calls_until_it_stays() {
    for (int calls = 1; calls < 100'000; ++calls)
      if (call()) return calls;
    return 0;
  }
  void look() { heuristic_.touched(platform::outward_to_pages(bounds(operation_.operands()[result]))); }

  const test::TestCall made_{blas::Routine::dgemm, {}, 300, 300, 300, 1.0, 1.0};
  const operation::Operation operation_ = blas::operation_of(made_.call());
  StayHeuristic heuristic_;
};

TEST_F(StayHeuristicTest, FirstUsesGoHome) {
  EXPECT_FALSE(call());
  EXPECT_FALSE(call());
}

TEST_F(StayHeuristicTest, WhatNobodyLooksAtStays) {
  EXPECT_LT(calls_until_it_stays(), 6);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(call());
}

TEST_F(StayHeuristicTest, ALookAtAFewElementsIsNoFailure) {
  calls_until_it_stays();
  const auto begin = bounds(operation_.operands()[result]).begin;
  for (int i = 0; i < 10; ++i) {
    heuristic_.touched({begin, begin + platform::page_size()});
    EXPECT_TRUE(call());
  }
}

TEST_F(StayHeuristicTest, WhatTheProgramLooksAtIsTriedEverMoreRarely) {
  int before = calls_until_it_stays();
  for (int i = 0; i < 4; ++i) {
    look();
    const int now = calls_until_it_stays();
    EXPECT_GT(now, 2 * before);
    before = now;
  }
}

TEST_F(StayHeuristicTest, NewMemoryIsANewStart) {
  calls_until_it_stays();
  heuristic_.forget(platform::outward_to_pages(bounds(operation_.operands()[result])));
  EXPECT_FALSE(call());
}

}  // namespace
}  // namespace blastoff::residency::mirror
