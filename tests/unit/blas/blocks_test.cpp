// Blocks: computed one after the other they give the call's result, and each block fits into memory.
#include <gtest/gtest.h>

#include "blas/blocks.h"
#include "every_routine.h"
#include "product_call.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Call;
using blas::Kind;

/// Number of elements of the operands that the copy policy does not cut.
std::int64_t elements_needed_whole(const Call& call) {
  const Kind kind = call.kind();
  if (kind == Kind::gemm) return call.m * call.k;
  if (blas::has_side(kind)) return call.k * call.k;
  if (kind == Kind::syr2k || kind == Kind::her2k) return 2 * call.n * call.k + call.n * call.n;
  return call.n * call.k * (kind == Kind::gemmt ? 2 : 1);
}

std::vector<Call> flat(const Call& call, std::size_t bytes) {
  std::vector<Call> all;
  for (const std::vector<Call>& series : blocks(call, bytes)) {
    EXPECT_FALSE(series.empty());
    for (const Call& each : series) EXPECT_EQ(each.routine, series.front().routine);
    all.insert(all.end(), series.rbegin(), series.rend());  // in any order
  }
  return all;
}

class Blocks : public testing::TestWithParam<blas::Routine> {
 protected:
  void check(const test::Options& options, blas::Coefficient beta, std::size_t elements) {
    const test::TestCall made(GetParam(), options, 37, 41, 45, {0.7, -0.3}, beta);
    SCOPED_TRACE(test::describe(made.call()) + " elements " + std::to_string(elements));
    auto whole = made.result();
    auto cut = made.result();
    reference::compute(made.with_result(whole));
    const std::vector<Call> parts =
        flat(made.with_result(cut), 2 * elements * blas::element_size(made.call().scalar()));
    for (const Call& part : parts) {
      EXPECT_TRUE(valid(part)) << test::describe(part);
      EXPECT_FALSE(trivial(part)) << test::describe(part);
      if (parts.size() > 1) {
        EXPECT_LE(elements_needed_whole(part), static_cast<std::int64_t>(elements)) << test::describe(part);
      }
      reference::compute(part);
    }
    EXPECT_LE(made.difference(cut, whole), 2 * test::rounding);
    EXPECT_EQ(parts.size() > 1, elements < 10'000 && !is_matrix_vector(made.call().kind()));
  }
};

TEST_P(Blocks, ComputeTheCallOneAfterTheOther) {
  for (const test::Options& options : test::all_options(GetParam())) {
    for (const std::size_t elements : {16U, 100U, 300U, 900U, 10'000U}) {
      check(options, {1.2, 0.4}, elements);
      check(options, {0, 0}, elements);
    }
  }
}

TEST_P(Blocks, OfAnEmptyResultAreTheCallItself) {
  const test::TestCall made(GetParam(), {}, 0, 0, 3, 1, 1);
  EXPECT_EQ(blocks(made.call(), 1).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, Blocks, testing::ValuesIn(test::every_routine()), test::routine_name);

/// 16000 x 16000 within 2 GB: A is transferred once, B three times, C once.
TEST(BlockSizes, AreAsLargeAsTheyCanBe) {
  const Call call = test::product_call({}, 16000, 16000, 16000, 1);
  const std::vector<std::vector<Call>> series = blocks(call, std::size_t{2} << 30);
  ASSERT_EQ(series.size(), 1U) << "blocks of rows do not depend on each other";
  ASSERT_EQ(series.front().size(), 2U);
  for (const Call& part : series.front()) EXPECT_EQ(part.k, 16000);
}

}  // namespace
}  // namespace blastoff
