#include "blas/batch.h"

#include <gtest/gtest.h>

#include <vector>

#include "blas/batch_check.h"
#include "blas/blocks.h"
#include "blas/front_end.h"
#include "blas/panels.h"
#include "blas/parts.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Call;
using blas::Routine;
using blas::Stacking;

/// A batch of products of 3 x 5 and 5 x 4 matrices, with these strides and leading dimensions.
Call batch_of(std::int64_t products, std::array<std::int64_t, 3> strides, std::array<std::int64_t, 3> leading) {
  static std::array<double, 4096> memory{};
  Call call;
  call.routine = Routine::dgemm_batch_strided;
  call.m = 3;
  call.n = 4;
  call.k = 5;
  call.alpha = 1;
  call.products = products;
  const std::array<void*, 3> addresses{memory.data(), memory.data() + 1000, memory.data() + 2000};
  blas::shape_operands(call, addresses, leading);
  blas::stack(call, strides);
  return call;
}

TEST(Batch, MatricesThatFormABoxAreOneOperand) {
  const Call apart = batch_of(7, {15, 0, 20}, {3, 5, 3});
  EXPECT_EQ(apart.stacking, (std::array{Stacking::apart, Stacking::one, Stacking::apart}));
  EXPECT_EQ(apart.operands()[0].rows, 15);
  EXPECT_EQ(apart.operands()[0].columns, 7);
  EXPECT_TRUE(apart.operands()[0].contiguous());
  EXPECT_EQ(apart.operands()[1].columns, 4);
  EXPECT_EQ(apart.result().rows, 12);
  EXPECT_EQ(apart.result().leading_dimension, 20) << "what lies between the matrices is not part of the stack";

  const Call others = batch_of(7, {40, 5, 3}, {8, 35, 21});
  EXPECT_EQ(others.stacking, (std::array{Stacking::beside, Stacking::below, Stacking::below}));
  EXPECT_EQ(others.operands()[0].columns, 35);
  EXPECT_EQ(others.operands()[1].rows, 35);
  EXPECT_EQ(others.result().rows, 21);
  EXPECT_TRUE(blas::valid(others) && !blas::is_scattered(others));
}

TEST(Batch, OtherMatricesAreScattered) {
  EXPECT_TRUE(blas::is_scattered(batch_of(7, {50, 20, 12}, {8, 5, 3}))) << "a gap between matrices with gaps";
  EXPECT_TRUE(blas::is_scattered(batch_of(7, {-15, 20, 12}, {3, 5, 3}))) << "backwards";
  EXPECT_TRUE(blas::is_scattered(batch_of(7, {3, 20, 12}, {3, 5, 3}))) << "matrices that overlap";
  EXPECT_TRUE(blas::is_scattered(batch_of(7, {15, 20, 0}, {3, 5, 3}))) << "one result";
  EXPECT_FALSE(blas::is_scattered(batch_of(1, {-1, -1, 0}, {3, 5, 3}))) << "one product";
}

TEST(Batch, InvalidArgumentsStayInvalid) {
  EXPECT_FALSE(blas::valid(batch_of(7, {15, 20, 12}, {2, 5, 3})));
  EXPECT_FALSE(blas::valid(batch_of(-1, {15, 20, 12}, {3, 5, 3})));
  EXPECT_TRUE(blas::trivial(batch_of(0, {15, 20, 12}, {3, 5, 3})));
}

TEST(Batch, ShapesTellHowAStackLies) {
  const Call call = batch_of(7, {40, 5, 20}, {8, 35, 3});
  Call again = batch_of(1, {0, 0, 0}, {8, 35, 3});
  again.products = 7;
  ASSERT_TRUE(blas::adopt_stacks(again, call.operands()));
  EXPECT_EQ(again.stacking, call.stacking);
  Call other = batch_of(1, {0, 0, 0}, {8, 35, 3});
  other.products = 6;
  EXPECT_FALSE(blas::adopt_stacks(other, call.operands()));
}

/// Runs `cut` on a batch and compares the result of its calls with the batch's.
template <class Cut>
void expect_the_same_as_whole(const Cut& cut, const test::TestCall& tested) {
  std::vector<std::byte> expected = tested.result();
  std::vector<std::byte> actual = tested.result();
  reference::compute(tested.with_result(expected));
  std::int64_t products = 0;
  for (const Call& call : cut(tested.with_result(actual))) {
    EXPECT_TRUE(blas::valid(call));
    products += call.products;
    reference::compute(call);
  }
  EXPECT_EQ(products, tested.call().products);
  EXPECT_LE(tested.difference(expected, actual), test::rounding) << test::describe(tested.call());
}

/// The same on batches of all kinds of stacks.
template <class Cut>
void expect_the_same_as_whole(const Cut& cut) {
  for (const Routine routine : {Routine::zgemm_batch_strided, Routine::ztrsm_batch_strided}) {
    for (test::Options options : test::all_options(routine)) {
      options.products = 11;
      expect_the_same_as_whole(cut, test::TestCall(routine, options, 6, 7, 5, {0.75, -0.5}, {-0.5, 0.25}));
    }
  }
}

TEST(Batch, IsCutBetweenProducts) {
  const std::size_t product = 6 * 7 * sizeof(std::complex<double>);
  expect_the_same_as_whole([&](const Call& call) {
    const auto panels = blas::panels(call, 3 * product);
    EXPECT_EQ(panels.size(), 4U);
    return panels;
  });
  expect_the_same_as_whole([](const Call& call) {
    std::vector<Call> calls;
    const auto parts = blas::parts(call, 4);
    EXPECT_EQ(parts.size(), 4U);
    for (const auto& part : parts) calls.insert(calls.end(), part.begin(), part.end());
    return calls;
  });
  expect_the_same_as_whole([&](const Call& call) {
    std::vector<Call> calls;
    const auto blocks = blas::blocks(call, 16 * product);
    EXPECT_GT(blocks.size(), 1U);
    for (const auto& series : blocks) calls.insert(calls.end(), series.begin(), series.end());
    return calls;
  });
}

TEST(Batch, ProductsThatDoNotFitAreCutThemselves) {
  const test::TestCall tested(Routine::dgemm_batch_strided,
                              {.products = 2, .stacking = {Stacking::apart, Stacking::apart, Stacking::apart}}, 200,
                              200, 200, 1, 0);
  const auto blocks = blas::blocks(tested.call(), 200000);
  ASSERT_GE(blocks.size(), 2U);
  EXPECT_EQ(blocks.front().front().routine, Routine::dgemm);
}

TEST(Batch, OneProductIsCutAsGemmIs) {
  const test::TestCall tested(Routine::dgemm_batch_strided, {.products = 1}, 40, 400, 30, 1, 0);
  const auto panels = blas::panels(tested.call(), std::size_t{40} * 100 * sizeof(double));
  EXPECT_GE(panels.size(), 4U);
  EXPECT_EQ(panels.front().routine, Routine::dgemm);
  const auto parts = blas::parts(tested.call(), 2);
  EXPECT_EQ(parts.size(), 2U);
  const auto solves =
      blas::panels(test::TestCall(Routine::dtrsm_batch_strided, {.products = 1}, 40, 400, 40, 1, 0).call(), 1);
  EXPECT_EQ(solves.size(), 1U);
}

/// A wrong number in the seventh of the call's results is found, and no other.
void expect_one_wrong_is_found(const test::TestCall& tested) {
  const reference::ReferenceRoutine host;
  for (const auto effort : {operation::Effort::full, operation::Effort::quick}) {
    std::vector<std::byte> memory = tested.result();
    const Call call = tested.with_result(memory);
    const auto right = blas::check_products(call, host, effort);
    const auto wrong = blas::check_products(call, host, effort);
    reference::compute(call);
    EXPECT_TRUE(right->compare().checked);
    EXPECT_LE(right->compare().relative_error, right->compare().bound);
    static_cast<double*>(blas::one_product(call, 6).result().address)[3] += 1;
    EXPECT_GT(wrong->compare().relative_error, wrong->compare().bound);
  }
}

TEST(Batch, OneWrongProductIsFound) {
  expect_one_wrong_is_found(
      test::TestCall(Routine::dgemm_batch_strided,
                     {.products = 9, .stacking = {Stacking::apart, Stacking::one, Stacking::beside}}, 8, 8, 8, 1, 1));
}

/// A batch of solves with triangles of order 3, from the left.
Call solves_of(std::int64_t products, std::array<std::int64_t, 2> strides, std::array<std::int64_t, 2> leading) {
  static std::array<double, 4096> memory{};
  Call call;
  call.routine = Routine::dtrsm_batch_strided;
  call.uplo = blas::Uplo::lower;
  call.m = 3;
  call.n = 4;
  call.alpha = 1;
  call.products = products;
  blas::shape_operands(call, std::array<void*, 2>{memory.data(), memory.data() + 1000}, leading);
  blas::stack(call, strides);
  return call;
}

TEST(BatchOfSolves, HasAStackOfTriangles) {
  const Call call = solves_of(7, {9, 12}, {3, 3});
  EXPECT_EQ(call.k, 3);
  EXPECT_EQ(call.operands()[0].rows, 9);
  EXPECT_EQ(call.operands()[0].columns, 7);
  EXPECT_EQ(call.operands()[0].part, blas::Part::full) << "triangles in a stack form no triangle";
  EXPECT_EQ(call.result().rows, 12);
  EXPECT_EQ(call.result().intent, operation::Intent::update);
  const Call one = blas::one_product(call, 2);
  EXPECT_EQ(one.routine, Routine::dtrsm);
  EXPECT_EQ(one.operands()[0].part, blas::Part::lower);
  EXPECT_EQ(one.operands()[0].address, static_cast<double*>(call.operands()[0].address) + 18);
  EXPECT_TRUE(blas::is_scattered(solves_of(7, {9, 0}, {3, 3}))) << "one result";
  EXPECT_FALSE(blas::is_scattered(solves_of(7, {0, 12}, {3, 3}))) << "one triangle";
}

TEST(BatchOfSolves, CountsTheWorkOfAllSolves) {
  const Call call = solves_of(7, {9, 12}, {3, 3});
  EXPECT_EQ(blas::flops(call), 7 * 3 * 3 * 4);
  EXPECT_EQ(blas::volume(call), 7 * 3 * 3 * 4);
  const operation::Operation operation = call;
  EXPECT_EQ(operation.arguments(), "L L N N m=3 n=4 products=7");
  EXPECT_EQ(operation.cutting, operation::Cutting::strips);
  EXPECT_EQ(blas::call_of(operation).stacking, call.stacking);
}

TEST(BatchOfSolves, OneWrongSolutionIsFound) {
  expect_one_wrong_is_found(test::TestCall(
      Routine::dtrsm_batch_strided, {.products = 9, .stacking = {Stacking::apart, Stacking::beside}}, 8, 8, 8, 1, 1));
}

TEST(Batch, CountsTheWorkOfAllProducts) {
  const Call call = batch_of(7, {15, 20, 12}, {3, 5, 3});
  EXPECT_EQ(blas::flops(call), 7 * 2 * 3 * 4 * 5);
  EXPECT_EQ(blas::volume(call), 7 * 3 * 4 * 5);
  EXPECT_EQ(blas::depth(call), 5);
  const operation::Operation operation = call;
  EXPECT_EQ(operation.arguments(), "N N m=3 n=4 k=5 products=7");
  EXPECT_EQ(blas::call_of(operation).stacking, call.stacking);
}

}  // namespace
}  // namespace blastoff
