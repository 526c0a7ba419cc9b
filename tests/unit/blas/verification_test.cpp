// --verify finds a wrong element of a product with a vector, and reports no other element.
#include "blas/verification.h"

#include <gtest/gtest.h>

#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Routine;

class VerificationOfVector : public testing::TestWithParam<Routine> {};

TEST_P(VerificationOfVector, FindsOneWrongElement) {
  const reference::ReferenceRoutine host;
  for (const test::Options& options : test::all_options(GetParam())) {
    for (const blas::Coefficient beta : {blas::Coefficient(0), blas::Coefficient(0.5)}) {
      const test::TestCall made(GetParam(), options, 40, 30, 0, 1, beta);
      SCOPED_TRACE(test::describe(made.call()));
      auto memory = made.result();
      const blas::Call call = made.with_result(memory);
      const auto verification = blas::verify(call, host);
      reference::compute(call);
      const operation::Comparison right = verification->compare();
      EXPECT_TRUE(right.checked);
      EXPECT_LE(right.relative_error, right.bound);

      constexpr std::int64_t wrong = 7;
      auto* const element = static_cast<std::byte*>(call.result().address) +
                            static_cast<std::size_t>(wrong) * call.result().stride_bytes();
      if (call.result().element_size == 4 || call.scalar() == blas::Scalar::c)
        *reinterpret_cast<float*>(element) += 0.05F;
      else
        *reinterpret_cast<double*>(element) += 0.05;
      const operation::Comparison found = verification->compare();
      EXPECT_GT(found.relative_error, found.bound);
      EXPECT_EQ(found.column, wrong);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, VerificationOfVector,
                         testing::Values(Routine::sgemv, Routine::zgemv, Routine::dsymv, Routine::chemv),
                         [](const auto& test) { return std::string(row(test.param).name); });

// A large and a small row: each error is judged relative to its own row, in either order of y in memory.
TEST(VerificationOfVectors, JudgesEachElementByItsRow) {
  const reference::ReferenceRoutine host;
  for (const bool reversed : {false, true}) {
    double a[] = {1e12, 1, 1e12, 1};
    double x[] = {1, 1};
    double y[2] = {};
    blas::Call call;
    call.routine = Routine::dgemv;
    call.m = call.n = 2;
    call.alpha = 1;
    call.reversed_y = reversed;
    void* const addresses[] = {a, x, y};
    const std::int64_t leading[] = {2, 1, 1};
    blas::shape_operands(call, addresses, leading);
    const auto verification = blas::verify(call, host);
    reference::compute(call);
    y[reversed ? 1 : 0] += 1e-3;
    operation::Comparison found = verification->compare();
    EXPECT_LE(found.relative_error, found.bound);
    y[reversed ? 0 : 1] += 1e-3;
    found = verification->compare();
    EXPECT_GT(found.relative_error, found.bound);
  }
}

}  // namespace
}  // namespace blastoff
