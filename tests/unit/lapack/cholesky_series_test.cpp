// A Cholesky factorization as a series of smaller operations does the same as the routine.
#include "lapack/cholesky_series.h"

#include <gtest/gtest.h>

#include <cmath>

#include "blas/front_end.h"
#include "on_system_lapack.h"
#include "reference_blas.h"

namespace blastoff::test {
namespace {

using operation::Operation;

class CholeskySeries : public OnSystemLapack {
 protected:
  /// Makes the operations. Returns the one that has failed, or the size of the list.
  static std::size_t make(std::span<const Operation> operations) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (blas::is_blas(operations[i]))
        reference::compute(blas::call_of(operations[i]));
      else if (!host().compute(operations[i]))
        return i;
    }
    return operations.size();
  }

  static std::vector<Operation> blocks(const Operation& whole, std::size_t bytes) {
    std::vector<Operation> result;
    for (const auto& series : operation::blocks(whole, bytes))
      result.insert(result.end(), series.begin(), series.end());
    return result;
  }

  static void expect_equal(Example& found, Example& expected, std::int64_t size) {
    const double rounding = is_single() ? 1e-4 : 1e-12;
    for (std::int64_t j = 0; j < size; ++j)
      for (std::int64_t i = 0; i < size; ++i) {
        const Number a = found.matrix(Argument::a).get(i, j);
        const Number b = expected.matrix(Argument::a).get(i, j);
        EXPECT_TRUE(std::isnan(std::abs(a)) ? std::isnan(std::abs(b)) : std::abs(a - b) < rounding) << i << ", " << j;
      }
  }
};

TEST_P(CholeskySeries, GivesTheFactor) {
  for (const char uplo : {'L', 'U'})
    for (const std::int64_t order : {1, 7, 12, 36, 37}) {
      SCOPED_TRACE(std::string(1, uplo) + " " + std::to_string(order));
      Example expected(GetParam(), {.uplo = uplo});
      Example found(GetParam(), {.uplo = uplo});
      ASSERT_TRUE(host().compute(expected.call().operation()));
      const auto series = lapack::cholesky_series(found.call().operation(), order);
      ASSERT_EQ(make(series), series.size());
      expect_equal(found, expected, 37);
      EXPECT_EQ(found.integer(Argument::info), 0);
    }
}

TEST_P(CholeskySeries, IsCutAgainToFit) {
  Example expected(GetParam());
  Example found(GetParam());
  ASSERT_TRUE(host().compute(expected.call().operation()));
  const Operation whole = found.call().operation();
  EXPECT_EQ(operation::blocks(whole, 4 * whole.operands()[0].payload_bytes()).size(), 1U);
  const std::size_t bytes = whole.operands()[0].payload_bytes() / 8;
  const std::vector<Operation> all = blocks(whole, bytes);
  for (const Operation& each : all) {
    if (lapack::is_cholesky(each)) {
      EXPECT_LE(each.operands()[0].payload_bytes(), bytes / 2);
    }
  }
  ASSERT_EQ(make(all), all.size());
  expect_equal(found, expected, 37);
}

TEST_P(CholeskySeries, TellsWhichMinorIsNotPositive) {
  for (const char uplo : {'L', 'U'})
    for (const std::int64_t row : {3, 20, 36}) {
      Example example(GetParam(), {.uplo = uplo});
      example.set_element(Argument::a, row, row, -1);
      const Operation whole = example.call().operation();
      const auto series = lapack::cholesky_series(whole, 8);
      const std::size_t failed = make(series);
      ASSERT_LT(failed, series.size());
      lapack::move_info(whole, series[failed]);
      EXPECT_EQ(lapack::info_of(whole), row + 1);
    }
}

std::vector<Routine> routines() {
  std::vector<Routine> result;
  for (const auto scalar : {blas::Scalar::s, blas::Scalar::d, blas::Scalar::c, blas::Scalar::z})
    result.push_back(routine_of(Kind::potrf, scalar));
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, CholeskySeries, testing::ValuesIn(routines()), name_of);

}  // namespace
}  // namespace blastoff::test
