// Norms on devices with their own library: all of them, of long and wide matrices, of triangles, and at the ends of the
// range of numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lapack_fixture.h"

namespace blastoff::test {
namespace {

class NormTest : public LapackTest {
 protected:
  static double norm_of(const Matrix& a, char norm) {
    std::vector<double> rows(static_cast<std::size_t>(a.rows));
    std::vector<double> columns(static_cast<std::size_t>(a.columns));
    double largest = 0;
    double squares = 0;
    for (std::int64_t j = 0; j < a.columns; ++j)
      for (std::int64_t i = 0; i < a.rows; ++i) {
        const double size = std::abs(a(i, j));
        largest = std::max(largest, size);
        squares += size * size;
        rows[static_cast<std::size_t>(i)] += size;
        columns[static_cast<std::size_t>(j)] += size;
      }
    if (norm == 'M') return largest;
    if (norm == 'F') return std::sqrt(squares);
    return *std::max_element(norm == 'I' ? rows.begin() : columns.begin(), norm == 'I' ? rows.end() : columns.end());
  }

  static LapackCall general(blas::Scalar scalar, char norm, const Matrix& a) {
    LapackCall call(find_routine(Kind::lange, scalar), scalar == blas::Scalar::d ? 8 : 4);
    call.set(Argument::job, norm);
    call.set_a(a);
    return call;
  }
};

INSTANTIATE_TEST_SUITE_P(, NormTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(NormTest, OfLongAndWideMatrices) {
  for (const blas::Scalar scalar : {blas::Scalar::s, blas::Scalar::d, blas::Scalar::c, blas::Scalar::z})
    for (const char norm : {'M', '1', 'I', 'F'})
      for (const auto& [rows, columns] : {std::pair{70, 110}, {1, 40}, {9001, 3}, {3, 1100}}) {
        const bool complex = blas::is_complex(scalar);
        const Matrix a = random(rows, columns, complex);
        LapackCall call = general(scalar, norm, a);
        if (!run(call)) return;
        const bool single = blas::machine_epsilon(scalar) > 1e-10;
        EXPECT_NEAR(call.value() / norm_of(a, norm), 1, single ? 1e-6 : 1e-13) << norm << rows;
      }
}

TEST_P(NormTest, OfTriangles) {
  for (const char norm : {'M', 'O', 'I', 'F'})
    each_triangle(Kind::lansy, [&](LapackCall& call, bool upper, bool complex, double) {
      Matrix a = random(n, n, complex);
      const Matrix whole = [&] {
        Matrix made = hermitian_of(a, upper);
        for (std::int64_t i = 0; i < n; ++i) made(i, i) = made(i, i).real();
        return made;
      }();
      if (complex) a(5, 5) = {a(5, 5).real(), 1000};
      call.set(Argument::job, norm);
      call.set_a(a);
      if (!run(call)) return;
      EXPECT_NEAR(call.value() / norm_of(whole, norm == 'O' ? '1' : norm), 1, 1e-6) << norm;
    });
}

TEST_P(NormTest, NeitherOverflowsNorVanishes) {
  constexpr double largest = std::numeric_limits<double>::max();
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  for (const double size : {largest / 8, 1e-300, smallest}) {
    Matrix a(3, 3);
    for (Complex& element : a.elements) element = size;
    LapackCall call = general(blas::Scalar::d, 'F', a);
    if (!run(call)) return;
    EXPECT_DOUBLE_EQ(call.value(), 3 * size);
  }
  Matrix zeros(3, 3);
  LapackCall call = general(blas::Scalar::d, '1', zeros);
  if (!run(call)) return;
  EXPECT_EQ(call.value(), 0);
}

TEST_P(NormTest, IsLeftToTheOriginalIfItIsNoNumber) {
  for (const double element : {std::numeric_limits<double>::infinity(), std::nan("")})
    for (const char norm : {'M', '1', 'I', 'F'}) {
      Matrix a = random(n, few, false);
      a(3, 2) = element;
      LapackCall call = general(blas::Scalar::d, norm, a);
      const auto done = execute(call);
      ASSERT_FALSE(done);
      if (done.error().kind == ErrorKind::unsupported) return;
      EXPECT_EQ(done.error().kind, ErrorKind::failed);
    }
  Matrix a(3, 3);
  for (Complex& element : a.elements) element = std::numeric_limits<double>::max();
  LapackCall call = general(blas::Scalar::d, '1', a);
  const auto done = execute(call);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::failed);
}

}  // namespace
}  // namespace blastoff::test
