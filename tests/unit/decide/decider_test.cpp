#include "decide/decider.h"

#include <gtest/gtest.h>

#include "blas/shape.h"

namespace blastoff::decide {
namespace {

blas::Call call_of(blas::Routine routine, std::int64_t m, std::int64_t n, std::int64_t k,
                   blas::Side side = blas::Side::left) {
  blas::Call call;
  call.routine = routine;
  call.side = side;
  call.m = m;
  call.n = n;
  call.k = k;
  void* addresses[3] = {};
  std::int64_t leading_dimensions[3] = {};
  const std::size_t operands = row(routine).kind == blas::Kind::gemm || row(routine).kind == blas::Kind::symm ? 3 : 2;
  blas::shape_operands(call, {addresses, operands}, {leading_dimensions, operands});
  return call;
}

Verdict judge(std::int64_t min_size, const blas::Call& call) {
  return by_size_and_depth(min_size)->judge(call);
}

TEST(Decider, TakesCallsFromTheAverageSizeOn) {
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 250, 250, 250)), Verdict::device);
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 250, 250, 249)), Verdict::too_small);
  EXPECT_EQ(by_size_and_depth(250)->floor_volume(), 250.0 * 250.0 * 250.0);
}

TEST(Decider, LeavesFlatProductsToTheCpu) {
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 3000, 3000, 32)), Verdict::too_shallow);
  EXPECT_EQ(judge(250, call_of(blas::Routine::zgemm, 3000, 3000, 63)), Verdict::device);
  EXPECT_EQ(judge(250, call_of(blas::Routine::dsyrk, 3000, 3000, 32)), Verdict::too_shallow);
  // Small results of long sums are what devices are for.
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 32, 2400, 93536)), Verdict::device);
}

TEST(Decider, CountsTheOrderOfATriangle) {
  EXPECT_EQ(judge(250, call_of(blas::Routine::dtrsm, 32, 90000, 32)), Verdict::too_shallow);
  EXPECT_EQ(judge(250, call_of(blas::Routine::dtrsm, 600, 600, 600, blas::Side::right)), Verdict::device);
}

TEST(Decider, TakesEverythingFromZeroOn) {
  EXPECT_EQ(judge(0, call_of(blas::Routine::dgemm, 1, 1, 1)), Verdict::device);
  EXPECT_EQ(judge(0, call_of(blas::Routine::sgemm, 4000, 4000, 1)), Verdict::device);
}

}  // namespace
}  // namespace blastoff::decide
