// Least squares of matrices without full rank, which the tests of every routine lack.
#include <gtest/gtest.h>

#include "lapack/verification.h"
#include "on_system_lapack.h"

namespace blastoff::test {
namespace {

class LeastNorm : public OnSystemLapack {
 protected:
  /// Two columns and two rows are equal.
  static void lower_rank(Example& example, const lapack::Problem& problem) {
    for (std::int64_t i = 0; i < problem.m; ++i)
      example.set_element(Argument::a, i, 7, example.element(Argument::a, i, 3));
    for (std::int64_t j = 0; j < problem.n; ++j)
      example.set_element(Argument::a, 9, j, example.element(Argument::a, 2, j));
  }
};

TEST_P(LeastNorm, OfLowerRankIsCheckedByTheSingularValuesThatCount) {
  for (const Options& each : options()) {
    Example example(GetParam(), each);
    const lapack::Problem problem = example.call().problem();
    lower_rank(example, problem);
    SCOPED_TRACE(text(problem));
    const operation::Operation operation = example.call().operation();
    const auto verification = lapack::verify(operation);
    ASSERT_TRUE(host().compute(operation));
    const std::int64_t rank = example.integer(Argument::rank);
    EXPECT_EQ(rank, problem.min_side() - 1);
    EXPECT_TRUE(verification->compare().checked);
    EXPECT_LE(verification->compare().relative_error, verification->compare().bound);
    for (const std::int64_t wrong : {rank - 1, rank + 1}) {
      example.set_integer(Argument::rank, wrong);
      EXPECT_GT(verification->compare().relative_error, verification->compare().bound) << wrong;
    }
    example.set_integer(Argument::rank, rank);
    const Number element = example.element(Argument::b, 5, 0);
    example.set_element(Argument::b, 5, 0, element + 0.1);
    EXPECT_GT(verification->compare().relative_error, verification->compare().bound);
  }
}

std::vector<Routine> routines() {
  std::vector<Routine> result;
  for (const Kind kind : {Kind::gelsd, Kind::gelss})
    for (const auto scalar : {blas::Scalar::s, blas::Scalar::d, blas::Scalar::c, blas::Scalar::z})
      result.push_back(routine_of(kind, scalar));
  return result;
}

INSTANTIATE_TEST_SUITE_P(Every, LeastNorm, testing::ValuesIn(routines()), name_of);

}  // namespace
}  // namespace blastoff::test
