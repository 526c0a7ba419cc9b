#include "residency/mirror/stay_heuristic.h"

#include <gtest/gtest.h>

#include "blas/call.h"
#include "blas/front_end.h"
#include "residency/footprint.h"
#include "test_call.h"

namespace blastoff::residency::mirror {
namespace {

constexpr std::size_t result = 2;

/// A product with a result of 32 MB, and the program that makes it again and again.
class StayHeuristicTest : public ::testing::Test {
 protected:
  static constexpr std::size_t probe = 64 << 10;

  /// Makes the call once. Returns what has become of its result.
  Stay call() {
    const Stay stay = heuristic_.judge(operation_, result);
    left_ = stay == Stay::whole ? bounds(operand()).bytes() : stay == Stay::probe ? probe : 0;
    heuristic_.used(operation_, result, left_);
    return stay;
  }
  const operation::Operand& operand() const { return operation_.operands()[result]; }
  int calls_until_a_probe() {
    for (int calls = 1; calls < 100'000; ++calls)
      if (call() == Stay::probe) return calls;
    return 0;
  }
  /// The program looks at all that stayed.
  void look() { heuristic_.touched({bounds(operand()).begin, bounds(operand()).begin + left_}); }

  const test::TestCall made_{blas::Routine::dgemm, {}, 2000, 2000, 10, 1.0, 1.0};
  const operation::Operation operation_ = blas::operation_of(made_.call());
  StayHeuristic heuristic_;
  std::size_t left_ = 0;
};

TEST_F(StayHeuristicTest, WhatNobodyLooksAtStaysAfterItsProbe) {
  EXPECT_EQ(call(), Stay::probe);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(call(), Stay::whole);
}

TEST_F(StayHeuristicTest, ALookAtAFewElementsIsNoFailure) {
  call();
  call();
  for (int i = 0; i < 10; ++i) {
    heuristic_.touched({bounds(operand()).begin, bounds(operand()).begin + platform::page_size()});
    EXPECT_EQ(call(), Stay::whole);
  }
}

TEST_F(StayHeuristicTest, WhatTheProgramLooksAtIsTriedEverMoreRarely) {
  int before = calls_until_a_probe();
  for (int i = 0; i < 3; ++i) {
    look();
    EXPECT_EQ(call(), Stay::no);
    const int now = calls_until_a_probe();
    EXPECT_GT(now, 4 * before);
    before = now;
  }
}

TEST_F(StayHeuristicTest, AResultThatIsLookedAtAfterAFewUsesGoesHome) {
  for (int i = 0; i < 5; ++i) call();
  look();
  EXPECT_FALSE(heuristic_.expects_to_stay(operation_, result));
  EXPECT_EQ(call(), Stay::no);
  EXPECT_EQ(call(), Stay::no);
}

TEST_F(StayHeuristicTest, AResultThatIsLookedAtAfterManyUsesStays) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) call();
    look();
    EXPECT_TRUE(heuristic_.expects_to_stay(operation_, result));
    EXPECT_EQ(call(), Stay::whole);
  }
  int looks = 0;
  for (look(); call() == Stay::whole; look()) ++looks;
  EXPECT_LE(looks, 8) << "what was saved before";
}

TEST_F(StayHeuristicTest, ACallThatTheCpuComputesTellsNothingAboutTheProgram) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(call(), Stay::probe);
    heuristic_.left_to_cpu(platform::outward_to_pages(bounds(operand())), operand().payload_bytes());
  }
  call();
  EXPECT_EQ(call(), Stay::whole);
}

TEST_F(StayHeuristicTest, WhatTheCpuComputesAgainAndAgainGoesHome) {
  for (int i = 0; i < 2; ++i) call();
  int stayed = 0;
  do heuristic_.left_to_cpu(platform::outward_to_pages(bounds(operand())), operand().payload_bytes());
  while (call() == Stay::whole && ++stayed < 100);
  EXPECT_LE(stayed, 4);
}

TEST_F(StayHeuristicTest, NewMemoryIsANewStart) {
  for (int i = 0; i < 5; ++i) call();
  heuristic_.forget(platform::outward_to_pages(bounds(operand())));
  EXPECT_EQ(call(), Stay::probe);
}

TEST_F(StayHeuristicTest, ResultsOfAKindThatIsLookedAtAreNotTried) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call(), Stay::probe);
    look();
    call();
    heuristic_.forget(platform::outward_to_pages(bounds(operand())));
  }
  EXPECT_EQ(call(), Stay::no);
}

// As in a chain of products in NumPy: each result is a new array, and the one before is freed.
class NewMemoryTest : public StayHeuristicTest {
 protected:
  /// Makes the call in new memory. Returns what has become of its result.
  Stay call_once(bool looked_at) {
    const Stay stay = call();
    if (looked_at) look();
    heuristic_.forget(platform::outward_to_pages(bounds(operand())));
    return stay;
  }
};

TEST_F(NewMemoryTest, ResultsThatAreFreedUnseenStayFromTheBeginning) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(heuristic_.expects_to_stay(operation_, result));
    EXPECT_EQ(call_once(false), Stay::probe);
  }
  EXPECT_TRUE(heuristic_.expects_to_stay(operation_, result));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(call_once(false), Stay::whole);
}

TEST_F(NewMemoryTest, ALookAtOneOfTenChangesNothing) {
  for (int i = 0; i < 10; ++i) call_once(false);
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(call_once(true), Stay::whole);
    for (int i = 0; i < 9; ++i) EXPECT_EQ(call_once(false), Stay::whole);
  }
}

TEST_F(NewMemoryTest, ResultsThatTheProgramBeginsToLookAtGoHome) {
  for (int i = 0; i < 100; ++i) call_once(false);
  int stayed = 0;
  while (call_once(true) == Stay::whole) ++stayed;
  EXPECT_LE(stayed, 3);
}

TEST_F(NewMemoryTest, ResultsThatWereLookedAtAreAskedAboutAgain) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call_once(true), Stay::probe);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(call_once(true), Stay::no);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call_once(false), Stay::probe);
  EXPECT_EQ(call_once(false), Stay::whole);
}

TEST_F(NewMemoryTest, AnOtherRoutineLearnsByItself) {
  for (int i = 0; i < 5; ++i) call_once(false);
  const test::TestCall other{blas::Routine::dsymm, {}, 2000, 2000, 2000, 1.0, 0.0};
  EXPECT_FALSE(heuristic_.expects_to_stay(blas::operation_of(other.call()), result));
}

// As in a factorization: a small block of the matrix is computed and looked at, and a smaller rest of it is next.
TEST_F(StayHeuristicTest, ASmallPartTellsLittleAboutTheWhole) {
  for (int i = 0; i < 2; ++i) call();
  operation::Operation block = operation_;
  block.operands()[result].columns = 100;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(heuristic_.judge(block, result), Stay::whole);
    heuristic_.used(block, result, 0);
  }
  operation::Operation rest = operation_;
  rest.operands()[result].columns -= 100;
  rest.operands()[result].address = static_cast<double*>(operand().address) + 100 * operand().leading_dimension;
  EXPECT_EQ(heuristic_.judge(rest, result), Stay::whole);
}

TEST_F(StayHeuristicTest, AFewRowsOfAllColumnsTellLittleAboutTheWhole) {
  call();
  operation::Operation rows = operation_;
  rows.operands()[result].rows = 100;
  for (int i = 0; i < 10; ++i) heuristic_.used(rows, result, 0);
  EXPECT_EQ(call(), Stay::whole);
}

TEST_F(StayHeuristicTest, SmallResultsGoHome) {
  const test::TestCall small(blas::Routine::dgemm, {}, 300, 300, 10, 1.0, 1.0);
  EXPECT_EQ(heuristic_.judge(blas::operation_of(small.call()), result), Stay::no);
}

}  // namespace
}  // namespace blastoff::residency::mirror
