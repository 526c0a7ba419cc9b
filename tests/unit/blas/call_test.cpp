#include "blas/call.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Call;
using blas::Kind;
using blas::Routine;
using blas::Transpose;

Call make(Routine routine, std::int64_t m, std::int64_t n, std::int64_t k, const test::Options& options = {},
          blas::Coefficient alpha = 1, blas::Coefficient beta = 1) {
  return test::TestCall(routine, options, m, n, k, alpha, beta).call();
}

TEST(RoutineTable, HoldsEveryRoutineOnce) {
  EXPECT_EQ(blas::routine_count, 12U + 12U + 16U + 16U + 8U);
  EXPECT_STREQ(row(Routine::zher2k).name, "zher2k");
  EXPECT_EQ(row(Routine::cgemm3m).kind, Kind::gemm);
  EXPECT_EQ(blas::routine_of(Kind::gemm, blas::Scalar::c), Routine::cgemm);
  EXPECT_EQ(blas::routine_of(Kind::gemmt, blas::Scalar::d), Routine::dgemmt);
}

TEST(Shape, OfTransposedProductOperands) {
  const Call call = make(Routine::dgemm, 2, 3, 5, {.transpose_a = Transpose::transpose});
  EXPECT_EQ(call.operands()[0].rows, 5);
  EXPECT_EQ(call.operands()[0].columns, 2);
  EXPECT_EQ(call.operands()[1].rows, 5);
  EXPECT_EQ(call.operands()[1].columns, 3);
  EXPECT_EQ(call.result().rows, 2);
  EXPECT_EQ(call.result().columns, 3);
  EXPECT_EQ(call.result().part, operation::Part::full);
}

TEST(Shape, OfSidedRoutinesImpliesK) {
  EXPECT_EQ(make(Routine::dsymm, 2, 3, 99, {.side = blas::Side::left}).k, 2);
  const Call right = make(Routine::ztrsm, 2, 3, 99, {.side = blas::Side::right, .uplo = blas::Uplo::lower});
  EXPECT_EQ(right.k, 3);
  EXPECT_EQ(right.operand_count, 2);
  EXPECT_EQ(right.operands()[0].rows, 3);
  EXPECT_EQ(right.operands()[0].part, operation::Part::lower);
}

TEST(Shape, OfRankUpdatesImpliesM) {
  const Call call = make(Routine::zher2k, 99, 4, 6, {.uplo = blas::Uplo::lower, .transpose_a = Transpose::conjugate});
  EXPECT_EQ(call.m, 4);
  EXPECT_EQ(call.operands()[1].rows, 6);
  EXPECT_EQ(call.operands()[1].columns, 4);
  EXPECT_EQ(call.result().part, operation::Part::lower);
}

TEST(Shape, OfProductsWithVectors) {
  const Call call = make(Routine::zgemv, 2, 3, 99, {.transpose_a = Transpose::conjugate});
  EXPECT_EQ(call.k, 2);  // the length of x
  EXPECT_EQ(call.operands()[0].rows, 2);
  EXPECT_EQ(call.operands()[0].columns, 3);
  EXPECT_EQ(call.operands()[1].columns, 2);
  EXPECT_EQ(call.result().columns, 3);
  const Call symmetric = make(Routine::dsymv, 99, 4, 99, {.uplo = blas::Uplo::lower});
  EXPECT_EQ(symmetric.operands()[0].rows, 4);
  EXPECT_EQ(symmetric.operands()[0].part, operation::Part::lower);
  EXPECT_EQ(symmetric.result().columns, 4);
  EXPECT_FALSE(exists(Kind::symv, blas::Scalar::z));
  EXPECT_FALSE(exists(Kind::hemv, blas::Scalar::s));
}

TEST(Volume, OfProductsWithVectorsIsThatOfTheirMatrix) {
  EXPECT_EQ(volume(make(Routine::dgemv, 20, 30, 0)), 0.5 * 20 * 30 * 8);
  EXPECT_EQ(volume(make(Routine::chemv, 0, 30, 0)), 0.5 * 30 * 30 * 8);
  EXPECT_EQ(depth(make(Routine::dgemv, 20, 30, 0)), 30);
  EXPECT_TRUE(operation::Operation(make(Routine::dgemv, 20, 30, 0)).work.memory_bound);
  EXPECT_FALSE(operation::Operation(make(Routine::dgemm, 20, 30, 1)).work.memory_bound);
}

TEST(Intent, OfTheResultFollowsBeta) {
  EXPECT_EQ(make(Routine::dgemm, 2, 2, 2, {}, 1, 0).result().intent, operation::Intent::write);
  EXPECT_EQ(make(Routine::dgemm, 2, 2, 2, {}, 1, 2).result().intent, operation::Intent::update);
  EXPECT_EQ(make(Routine::zgemm, 2, 2, 2, {}, 1, {0, 1}).result().intent, operation::Intent::update);
  EXPECT_EQ(make(Routine::dtrsm, 2, 2, 2, {}, 1, 0).result().intent, operation::Intent::update);
  EXPECT_EQ(make(Routine::dtrsm, 2, 2, 2, {}, 0, 0).result().intent, operation::Intent::write);
}

TEST(Valid, RefusesNegativeSizesAndShortLeadingDimensions) {
  Call call = make(Routine::dgemm, 2, 3, 4);
  EXPECT_TRUE(valid(call));
  call.operands()[1].leading_dimension = 3;
  EXPECT_FALSE(valid(call));
  call = make(Routine::dgemm, 2, 3, 4);
  call.k = -1;
  EXPECT_FALSE(valid(call));
  call = make(Routine::dgemm, 0, 0, 0);
  EXPECT_TRUE(valid(call));
  call.result().leading_dimension = 0;
  EXPECT_FALSE(valid(call));
}

TEST(Valid, KnowsWhichTransposesARankUpdateTakes) {
  const auto is_valid = [](Routine routine, Transpose transpose) {
    return valid(make(routine, 3, 3, 3, {.transpose_a = transpose}));
  };
  EXPECT_TRUE(is_valid(Routine::dsyrk, Transpose::conjugate));
  EXPECT_FALSE(is_valid(Routine::csyrk, Transpose::conjugate));
  EXPECT_FALSE(is_valid(Routine::zsyr2k, Transpose::conjugate));
  EXPECT_TRUE(is_valid(Routine::csyrk, Transpose::transpose));
  EXPECT_FALSE(is_valid(Routine::cherk, Transpose::transpose));
  EXPECT_FALSE(is_valid(Routine::zher2k, Transpose::transpose));
  EXPECT_TRUE(is_valid(Routine::cherk, Transpose::conjugate));
}

TEST(Trivial, IsACallWithoutAProduct) {
  EXPECT_TRUE(trivial(make(Routine::dgemm, 0, 3, 3)));
  EXPECT_TRUE(trivial(make(Routine::dgemm, 3, 3, 0)));
  EXPECT_TRUE(trivial(make(Routine::dgemm, 3, 3, 3, {}, 0)));
  EXPECT_FALSE(trivial(make(Routine::zgemm, 3, 3, 3, {}, {0, 1})));
  EXPECT_FALSE(trivial(make(Routine::dtrsm, 3, 3, 0)));
  EXPECT_TRUE(trivial(make(Routine::dgemv, 3, 0, 1)));
  EXPECT_FALSE(trivial(make(Routine::dsymv, 0, 3, 0)));
}

TEST(Flops, FollowLapackWorkingNote41) {
  EXPECT_EQ(flops(make(Routine::dgemm, 2, 3, 5)), 60);
  EXPECT_EQ(flops(make(Routine::zgemm, 2, 3, 5)), 240);
  EXPECT_EQ(flops(make(Routine::dsymm, 2, 3, 0, {.side = blas::Side::right})), 2 * 2 * 3 * 3);
  EXPECT_EQ(flops(make(Routine::dsyrk, 0, 3, 5)), 5 * 3 * 4);
  EXPECT_EQ(flops(make(Routine::dsyr2k, 0, 3, 5)), 2 * 5 * 3 * 3 + 3);
  EXPECT_EQ(flops(make(Routine::dtrsm, 4, 3, 0)), 3 * 4 * 4);
  EXPECT_EQ(flops(make(Routine::dgemv, 4, 3, 0)), 2 * 4 * 3);
  EXPECT_EQ(flops(make(Routine::zhemv, 0, 3, 0)), 8 * 3 * 3);
}

TEST(Volume, CountsTheOrderOfASquareOperandTwice) {
  EXPECT_DOUBLE_EQ(volume(make(Routine::dgemm, 2, 4, 8)), 64);
  EXPECT_DOUBLE_EQ(volume(make(Routine::dtrsm, 2, 16, 0)), 64);
  EXPECT_DOUBLE_EQ(volume(make(Routine::dsymm, 16, 2, 0, {.side = blas::Side::right})), 64);
  EXPECT_DOUBLE_EQ(volume(make(Routine::dsyrk, 0, 4, 4)), 64);
  EXPECT_DOUBLE_EQ(volume(make(Routine::dgemm, 2000000, 1, 0)), 0);
}

}  // namespace
}  // namespace blastoff
