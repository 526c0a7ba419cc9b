// Least squares by singular values, on devices with their own library.
#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lapack_fixture.h"

namespace blastoff::test {
namespace {

class LeastNormTest : public LapackTest {
 protected:
  void place(LapackCall& call, const Matrix& a, const Matrix& b, double rcond) {
    const std::int64_t rows = std::max(a.rows, a.columns);
    Matrix room(rows, b.columns);  // the rows for longer solutions may hold anything
    for (Complex& element : room.elements) element = std::nan("");
    for (std::int64_t j = 0; j < b.columns; ++j)
      for (std::int64_t i = 0; i < b.rows; ++i) room(i, j) = b(i, j);
    call.set_a(a);
    call.set_b(room);
    call.set_real(Argument::rcond, rcond);
  }

  void try_shape(Kind kind, std::int64_t rows, std::int64_t columns) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    each_type(kind, [&](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
      const std::int64_t low = std::min(rows, columns);
      Matrix a = random(rows, columns, complex);
      for (std::int64_t i = 0; i < low; ++i) a(i, i) += 16;
      const Matrix b = random(rows, few, complex);
      place(call, a, b, 1e-5);
      if (!run(call)) return;
      EXPECT_EQ(call.integer(Argument::rank), low);
      double squares = 0;
      for (const Complex value : call.reals(Argument::w, low)) squares += std::norm(value);
      double norm = 0;
      for (const Complex element : a.elements) norm += std::norm(element);
      EXPECT_NEAR(squares / norm, 1, tolerance);
      const Matrix x = call.matrix(Argument::b, columns, few);
      expect_smallest_residual(a, b, x, call, tolerance);
      if (kind != Kind::gelss) return;
      const Matrix vectors = call.matrix(Argument::a, low, columns);
      EXPECT_LT(difference(vectors * adjoint(vectors), identity(low)), tolerance);
      EXPECT_LT(difference(adjoint(vectors) * (vectors * x), x), tolerance) << "the solution is of least norm";
    });
  }

  void try_shapes() {
    for (const Kind kind : {Kind::gelsd, Kind::gelss})
      for (const auto& [rows, columns] : {std::pair{n, n}, std::pair{tall, n}, std::pair{n, tall}})
        try_shape(kind, rows, columns);
  }
};

TEST_P(LeastNormTest, SolutionsOfFullRank) {
  try_shapes();
}

TEST_P(LeastNormTest, SingularValuesThatWerePerturbedAreFoundAnotherWay) {
  with_perturbed_values([&] { try_shapes(); });
}

/// Two columns are equal. The solution of least norm has equal elements there.
TEST_P(LeastNormTest, SolutionsWithoutFullRank) {
  for (const auto& [rows, columns] : {std::pair{n, n}, std::pair{tall, n}})
    each_type(Kind::gelsd, [&, m = rows, k = columns](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
      Matrix a = random(m, k, complex);
      for (std::int64_t i = 0; i < k; ++i) a(i, i) += 16;
      for (std::int64_t i = 0; i < m; ++i) a(i, 9) = a(i, 4);
      const Matrix b = random(m, few, complex);
      place(call, a, b, 1e-4);
      if (!run(call)) return;
      EXPECT_EQ(call.integer(Argument::rank), k - 1);
      const Matrix x = call.matrix(Argument::b, k, few);
      Matrix residual = a * x;
      for (std::size_t i = 0; i < residual.elements.size(); ++i) residual.elements[i] -= b.elements[i];
      EXPECT_LT(difference(adjoint(a) * residual, Matrix(k, few)), 100 * tolerance);
      for (std::int64_t j = 0; j < few; ++j) EXPECT_LT(std::abs(x(4, j) - x(9, j)), tolerance);
    });
}

TEST_P(LeastNormTest, ARankThatRoundingErrorsDecideIsLeftToTheOriginal) {
  for (const Kind kind : {Kind::gelsd, Kind::gelss})
    each_type(kind, [&](blas::Scalar, LapackCall& call, bool complex, double) {
      Matrix a = random(tall, n, complex);
      for (std::int64_t i = 0; i < tall; ++i) a(i, 9) = a(i, 4);
      place(call, a, random(tall, few, complex), -1);
      const auto done = execute(call);
      ASSERT_FALSE(done);
      if (done.error().kind == ErrorKind::unsupported) return;
      EXPECT_EQ(done.error().kind, ErrorKind::failed) << done.error().message;
      EXPECT_THAT(done.error().message, testing::HasSubstr("rank"));
    });
}

INSTANTIATE_TEST_SUITE_P(, LeastNormTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace blastoff::test
