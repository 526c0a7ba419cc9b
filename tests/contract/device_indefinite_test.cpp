// Symmetric indefinite matrices, on devices with their own library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lapack/verification.h"
#include "lapack_fixture.h"

namespace blastoff::test {
namespace {

class IndefiniteTest : public LapackTest {
 protected:
  /// The symmetric matrix, not Hermitian if complex, that a triangle represents.
  static Matrix symmetric_of(const Matrix& a, bool upper) {
    Matrix result = a;
    for (std::int64_t j = 0; j < a.columns; ++j)
      for (std::int64_t i = 0; i < a.rows; ++i)
        if (upper ? i > j : i < j) result(i, j) = a(j, i);
    return result;
  }
};

/// --verify multiplies LAPACK's factors, with its pivots. So this finds factors that are stored in another way. A zero
/// diagonal needs blocks of two rows.
TEST_P(IndefiniteTest, FactorsAreStoredAsInLapack) {
  for (const bool zero_diagonal : {false, true})
    each_triangle(Kind::sytrf, [&](LapackCall& call, bool, bool complex, double) {
      Matrix a = random(n, n, complex);
      for (std::int64_t i = 0; i < n && zero_diagonal; ++i) a(i, i) = 0;
      call.set_a(a);
      const auto verification = lapack::verify(call.operation());
      if (!run(call)) return;
      const auto comparison = verification->compare();
      EXPECT_TRUE(comparison.checked);
      EXPECT_LE(comparison.relative_error, comparison.bound);
      bool pairs = false;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) pairs |= call.integer(Argument::ipiv, i) < 0;
      EXPECT_TRUE(pairs || !zero_diagonal);
    });
}

TEST_P(IndefiniteTest, Solutions) {
  each_triangle(Kind::sysv, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
    const Matrix a = random(n, n, complex);
    const Matrix b = random(n, few, complex);
    call.set_a(a);
    call.set_b(b);
    const auto verification = lapack::verify(call.operation());
    if (!run(call)) return;
    EXPECT_LE(verification->compare().relative_error, verification->compare().bound);
    const Matrix x = call.matrix(Argument::b, n, few);
    EXPECT_LT(difference(symmetric_of(a, upper) * x, b), 100 * tolerance);
  });
}

TEST_P(IndefiniteTest, SolutionsWithGivenFactors) {
  each_triangle(Kind::sytrf, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
    const Matrix a = random(n, n, complex);
    const Matrix b = random(n, few, complex);
    call.set_a(a);
    if (!run(call)) return;
    LapackCall solve(find_routine(Kind::sytrs, call.scalar()), call.integer_bytes());
    solve.set(Argument::uplo, upper ? 'U' : 'L');
    solve.set_a(call.matrix(Argument::a, n, n));
    solve.bytes(Argument::ipiv) = call.bytes(Argument::ipiv);
    solve.set_b(b);
    if (!run(solve)) return;
    EXPECT_LT(difference(symmetric_of(a, upper) * solve.matrix(Argument::b, n, few), b), 100 * tolerance);
  });
}

TEST_P(IndefiniteTest, SingularMatricesFail) {
  each_triangle(Kind::sytrf, [&](LapackCall& call, bool, bool complex, double) {
    for (const std::int64_t zero : {std::int64_t{0}, n / 2, n - 1}) {
      Matrix a = random(n, n, complex);
      for (std::int64_t i = 0; i < n; ++i) a(i, zero) = a(zero, i) = 0;
      call.set_a(a);
      expect_failure(call);
    }
  });
}

TEST_P(IndefiniteTest, PivotsOutOfRangeFail) {
  LapackCall call(find_routine(Kind::sytrs, blas::Scalar::d), 4);
  call.set(Argument::uplo, 'L');
  call.set_a(random(n, n, false));
  call.set_b(random(n, few, false));
  call.bytes(Argument::ipiv).assign(static_cast<std::size_t>(n) * 4, 0x7f);
  expect_failure(call);
}

INSTANTIATE_TEST_SUITE_P(, IndefiniteTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace blastoff::test
