// LAPACK on devices with their own library: residuals of every routine, bytes that must not be written, and failures.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lapack_fixture.h"

namespace blastoff::test {
namespace {

INSTANTIATE_TEST_SUITE_P(, LapackTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(LapackTest, CholeskyFactorsAndInverses) {
  each_triangle(Kind::potrf, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
    const Matrix a = hermitian(n, complex, 40);
    call.set_a(a);
    if (run(call)) {
      EXPECT_LT(difference(product_of_factor(call.matrix(Argument::a, n, n), upper), hermitian_of(a, upper)),
                40 * tolerance);
    }
  });
  each_triangle(Kind::potri, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
    const Matrix factor = hermitian(n, complex, 10);
    call.set_a(factor);
    if (!run(call)) return;
    const Matrix inverse = hermitian_of(call.matrix(Argument::a, n, n), upper);
    EXPECT_LT(difference(product_of_factor(factor, upper) * inverse, identity(n)), 1000 * tolerance);
  });
}

TEST_P(LapackTest, CholeskySolves) {
  each_triangle(Kind::posv, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
    const Matrix a = hermitian(n, complex, 40);
    const Matrix b = random(n, few, complex);
    call.set_a(a);
    call.set_b(b);
    if (!run(call)) return;
    EXPECT_LT(difference(hermitian_of(a, upper) * call.matrix(Argument::b, n, few), b), tolerance);
    EXPECT_LT(difference(product_of_factor(call.matrix(Argument::a, n, n), upper), hermitian_of(a, upper)),
              40 * tolerance);
  });
  each_triangle(Kind::potrs, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
    const Matrix factor = hermitian(n, complex, 10);
    const Matrix b = random(n, few, complex);
    call.set_a(factor);
    call.set_b(b);
    if (run(call)) {
      EXPECT_LT(difference(product_of_factor(factor, upper) * call.matrix(Argument::b, n, few), b), 10 * tolerance);
    }
  });
}

TEST_P(LapackTest, TrianglesAreInverted) {
  for (const char diag : {'N', 'U'}) {
    each_triangle(Kind::trtri, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
      const Matrix a = near_identity(complex);
      call.set(Argument::diag, diag);
      call.set_a(a);
      if (!run(call)) return;
      const Matrix result = call.matrix(Argument::a, n, n);
      EXPECT_LT(difference(triangle_of(a, upper, diag == 'U') * triangle_of(result, upper, diag == 'U'), identity(n)),
                10 * tolerance);
      if (diag == 'U') {
        EXPECT_EQ(result(3, 3), a(3, 3)) << "the diagonal is another triangle's";
      }
    });
  }
}

TEST_P(LapackTest, TrianglesAreSolvedWith) {
  for (const char diag : {'N', 'U'}) {
    for (const char trans : {'N', 'T', 'C'}) {
      each_triangle(Kind::trtrs, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
        const Matrix a = near_identity(complex);
        const Matrix b = random(n, few, complex);
        call.set(Argument::trans, trans);
        call.set(Argument::diag, diag);
        call.set_a(a);
        call.set_b(b);
        if (!run(call)) return;
        Matrix part = triangle_of(a, upper, diag == 'U');
        if (trans != 'N') part = adjoint(part);
        if (trans == 'T')
          for (Complex& element : part.elements) element = std::conj(element);
        EXPECT_LT(difference(part * call.matrix(Argument::b, n, few), b), tolerance);
      });
    }
  }
}

TEST_P(LapackTest, AZeroOnTheDiagonalOfATriangleFails) {
  for (const char diag : {'N', 'U'}) {
    each_triangle(Kind::trtrs, [&](LapackCall& call, bool, bool complex, double) {
      Matrix a = near_identity(complex);
      a(n - 1, n - 1) = -0.0;
      call.set(Argument::trans, 'N');
      call.set(Argument::diag, diag);
      call.set_a(a);
      call.set_b(random(n, few, complex));
      if (diag == 'U')
        run(call);
      else
        expect_failure(call, "singular");
    });
  }
}

/// The product P L U, with P from the interchanges in ipiv.
Matrix product_of_lu(LapackCall& call, std::int64_t rows, std::int64_t columns) {
  const std::int64_t low = std::min(rows, columns);
  const Matrix factors = call.matrix(Argument::a, rows, columns);
  Matrix lower(rows, low);
  Matrix upper(low, columns);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (i <= j && i < low) upper(i, j) = factors(i, j);
      if (j < low && i >= j) lower(i, j) = i == j ? 1 : factors(i, j);
    }
  }
  Matrix product = lower * upper;
  for (std::int64_t i = low - 1; i >= 0; --i) {
    const std::int64_t other = call.integer(Argument::ipiv, static_cast<std::size_t>(i)) - 1;
    for (std::int64_t j = 0; j < columns; ++j) std::swap(product(i, j), product(other, j));
  }
  return product;
}

TEST_P(LapackTest, LuFactors) {
  for (const auto& [rows, columns] : {std::pair{n, n}, std::pair{tall, n}, std::pair{n, tall}}) {
    each_type(Kind::getrf, [&, m = rows, k = columns](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
      const Matrix a = random(m, k, complex);
      call.set_a(a);
      if (run(call)) {
        EXPECT_LT(difference(product_of_lu(call, m, k), a), tolerance);
      }
    });
  }
}

TEST_P(LapackTest, LuSolvesAndInverts) {
  each_type(Kind::gesv, [&](blas::Scalar scalar, LapackCall& call, bool complex, double tolerance) {
    const Matrix a = hermitian(n, complex, 20);
    const Matrix b = random(n, few, complex);
    call.set_a(a);
    call.set_b(b);
    if (!run(call)) return;
    EXPECT_LT(difference(a * call.matrix(Argument::b, n, few), b), tolerance);
    for (const char trans : {'N', 'T', 'C'}) {
      LapackCall solve(find_routine(Kind::getrs, scalar), scalar == blas::Scalar::d ? 8 : 4);
      solve.set(Argument::trans, trans);
      solve.set_a(call.matrix(Argument::a, n, n));
      solve.set_b(b);
      solve.bytes(Argument::ipiv) = call.bytes(Argument::ipiv);
      if (!run(solve)) return;
      Matrix op = trans == 'N' ? a : adjoint(a);
      if (trans == 'T')
        for (Complex& element : op.elements) element = std::conj(element);
      EXPECT_LT(difference(op * solve.matrix(Argument::b, n, few), b), tolerance);
    }
    LapackCall invert(find_routine(Kind::getri, scalar), scalar == blas::Scalar::d ? 8 : 4);
    invert.set_a(call.matrix(Argument::a, n, n));
    invert.bytes(Argument::ipiv) = call.bytes(Argument::ipiv);
    if (!run(invert)) return;
    EXPECT_LT(difference(a * invert.matrix(Argument::a, n, n), identity(n)), 10 * tolerance);
    EXPECT_EQ(invert.numbers(Argument::work, 1).at(0), Complex(1 << 20)) << "its best size";
  });
}

TEST_P(LapackTest, RowExchanges) {
  each_type(Kind::laswp, [&](blas::Scalar scalar, LapackCall& call, bool complex, double) {
    for (const std::int64_t incx : {1, -1}) {
      Matrix a = random(tall, n, complex);
      a(4, 0) = std::numeric_limits<double>::quiet_NaN();  // is a number like others here
      constexpr std::int64_t k1 = 4;
      constexpr std::int64_t k2 = 8;
      const std::vector<std::int64_t> pivots{0, 0, 0, 9, 3, 6, n, 8};  // the second one lies above k1
      call.set_a(a);
      call.set(Argument::il, k1);
      call.set(Argument::iu, k2);
      call.set(Argument::incx, incx);
      const std::size_t width = scalar == blas::Scalar::d ? 8 : 4;
      for (std::size_t i = 0; i < pivots.size(); ++i)
        std::memcpy(call.bytes(Argument::ipiv).data() + i * width, &pivots[i], width);
      if (!run(call)) return;
      for (std::int64_t step = 0; step <= k2 - k1; ++step) {
        const std::int64_t row = incx > 0 ? k1 + step : k2 - step;
        for (std::int64_t j = 0; j < n; ++j)
          std::swap(a(row - 1, j), a(pivots[static_cast<std::size_t>(row - 1)] - 1, j));
      }
      const Matrix found = call.matrix(Argument::a, tall, n);
      int numbers = 0;
      for (std::size_t i = 0; i < a.elements.size(); ++i) numbers += found.elements[i] == a.elements[i] ? 1 : 0;
      EXPECT_EQ(numbers, tall * n - 1) << "all but the one that is no number";
    }
  });
}

TEST_P(LapackTest, Copies) {
  for (const char uplo : {'U', 'L', 'A'})
    each_type(Kind::lacpy, [&](blas::Scalar, LapackCall& call, bool complex, double) {
      const std::int64_t rows = uplo == 'A' ? tall : n;
      const Matrix a = random(rows, n, complex);
      const Matrix b = random(rows, n, complex);
      call.set(Argument::uplo, uplo);
      call.set_a(a);
      call.set(Argument::b, Argument::ldb, b);
      if (!run(call)) return;
      const Matrix found = call.matrix(Argument::b, rows, n);
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < rows; ++i) {
          const bool copied = uplo == 'A' || (uplo == 'U' ? i <= j : i >= j);
          ASSERT_EQ(found(i, j), copied ? a(i, j) : b(i, j)) << i << ", " << j;
        }
    });
}

TEST_P(LapackTest, QrFactorsAndTheirProducts) {
  each_type(Kind::geqrf, [&](blas::Scalar scalar, LapackCall& call, bool complex, double tolerance) {
    const Matrix a = random(tall, n, complex);
    call.set_a(a);
    if (!run(call)) return;
    const Matrix factors = call.matrix(Argument::a, tall, n);
    Matrix r(n, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i <= j; ++i) r(i, j) = factors(i, j);

    LapackCall generate(find_routine(Kind::orgqr, scalar), 4);
    generate.set(Argument::k, n);
    generate.set_a(factors);
    generate.bytes(Argument::tau) = call.bytes(Argument::tau);
    if (!run(generate)) return;
    const Matrix q = generate.matrix(Argument::a, tall, n);
    EXPECT_LT(difference(q * r, a), tolerance);
    EXPECT_LT(difference(adjoint(q) * q, identity(n)), tolerance);

    LapackCall multiply(find_routine(Kind::ormqr, scalar), 4);
    multiply.set(Argument::side, 'L');
    multiply.set(Argument::trans, complex ? 'C' : 'T');
    multiply.set(Argument::m, tall);
    multiply.set(Argument::n, n);
    multiply.set(Argument::k, n);
    multiply.set(Argument::a, Argument::lda, factors);
    multiply.bytes(Argument::tau) = call.bytes(Argument::tau);
    multiply.set(Argument::b, Argument::ldb, a);
    if (!run(multiply)) return;
    Matrix expected(tall, n);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i <= j; ++i) expected(i, j) = r(i, j);
    EXPECT_LT(difference(multiply.matrix(Argument::b, tall, n), expected), tolerance);
  });
}

TEST_P(LapackTest, LeastSquares) {
  for (const std::int64_t rows : {n, tall}) {
    each_type(Kind::gels, [&](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
      Matrix a = random(rows, n, complex);
      for (std::int64_t i = 0; i < n; ++i) a(i, i) += 16;
      const Matrix b = random(rows, few, complex);
      call.set(Argument::trans, 'N');
      call.set_a(a);
      call.set_b(b);
      if (!run(call)) return;
      expect_smallest_residual(a, b, call.matrix(Argument::b, n, few), call, tolerance);
      const Matrix r = triangle_of(call.matrix(Argument::a, n, n), true);
      EXPECT_LT(difference(adjoint(r) * r, adjoint(a) * a), 100 * tolerance);
    });
  }
}

TEST_P(LapackTest, LeastSquaresWithoutFullRankOrOfExtremeNumbersFail) {
  for (const double factor : {0.0, 1.0, 1e-150}) {
    LapackCall call(lapack::Routine::dgels, 4);
    Matrix a = random(tall, n, false);
    for (std::int64_t i = 0; i < tall; ++i) a(i, 9) = factor * a(i, 4);
    Matrix b = random(tall, few, false);
    if (factor == 1e-150)
      for (Complex& element : b.elements) element *= factor;
    call.set(Argument::trans, 'N');
    call.set_a(a);
    call.set_b(b);
    expect_failure(call, factor == 1e-150 ? "scaling" : "rank");
  }
}

TEST_P(LapackTest, SymmetricEigenproblems) {
  for (const Kind kind : {Kind::syev, Kind::syevd, Kind::syevr, Kind::syevx, Kind::spev, Kind::spevd, Kind::spevx}) {
    for (const char range : {'A', 'I'}) {
      const lapack::ArgumentList arguments = lapack::row(kind).arguments;
      const bool in_place = !arguments.has(Argument::z);
      const bool has_range = arguments.has(Argument::range);
      if (!has_range && range == 'I') continue;
      each_triangle(kind, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
        const Matrix a = hermitian(n, complex, 0);
        const std::int64_t first = range == 'I' ? 3 : 1;
        const std::int64_t count = range == 'I' ? 10 : n;
        std::vector<Complex> values;
        for (const char job : {'V', 'N'}) {
          call.set(Argument::job, job);
          call.set(Argument::n, n);
          call.set_symmetric(Argument::a, Argument::lda, a);
          if (has_range) {
            call.set(Argument::range, range);
            call.set(Argument::il, first);
            call.set(Argument::iu, first + count - 1);
          }
          if (!in_place) call.set(Argument::z, Argument::ldz, Matrix(n, n));
          if (!run(call)) return;
          if (job == 'N') {
            for (std::int64_t i = 0; i < count; ++i)
              EXPECT_NEAR(call.reals(Argument::w, count)[static_cast<std::size_t>(i)].real(),
                          values[static_cast<std::size_t>(i)].real(), 10 * tolerance);
            continue;
          }
          values = call.reals(Argument::w, count);
          const Matrix vectors = call.matrix(in_place ? Argument::a : Argument::z, n, count);
          EXPECT_LT(difference(hermitian_of(a, upper) * vectors, scale_columns(vectors, values)), 10 * tolerance);
          EXPECT_LT(difference(adjoint(vectors) * vectors, identity(count)), tolerance);
          if (has_range) {
            EXPECT_EQ(call.integer(Argument::found), count);
          }
          if (kind == Kind::syevr && count == n) {
            EXPECT_EQ(call.integer(Argument::isuppz, 1), n);
          }
        }
      });
    }
  }
}

TEST_P(LapackTest, GeneralizedEigenproblems) {
  for (const Kind kind : {Kind::sygv, Kind::sygvd, Kind::sygvx, Kind::spgv, Kind::spgvd, Kind::spgvx}) {
    for (const char range : {'A', 'I'}) {
      const lapack::ArgumentList arguments = lapack::row(kind).arguments;
      const bool in_place = !arguments.has(Argument::z);
      const bool has_range = arguments.has(Argument::range);
      if (!has_range && range == 'I') continue;
      for (const std::int64_t itype : {1, 2, 3}) {
        each_triangle(kind, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
          const Matrix a = hermitian(n, complex, 0);
          const Matrix b = hermitian(n, complex, 40);
          const std::int64_t count = range == 'I' ? 5 : n;
          const auto run_with = [&](char job) {
            call.set(Argument::itype, itype);
            call.set(Argument::job, job);
            call.set(Argument::n, n);
            call.set_symmetric(Argument::a, Argument::lda, a);
            call.set_symmetric(Argument::b, Argument::ldb, b);
            if (has_range) {
              call.set(Argument::range, range);
              call.set(Argument::il, std::int64_t{1});
              call.set(Argument::iu, count);
            }
            if (!in_place) call.set(Argument::z, Argument::ldz, Matrix(n, n));
            return run(call);
          };
          if (!run_with('V')) return;
          const Matrix full_a = hermitian_of(a, upper);
          const Matrix full_b = hermitian_of(b, upper);
          const Matrix vectors = call.matrix(in_place ? Argument::a : Argument::z, n, count);
          const std::vector<Complex> values = call.reals(Argument::w, count);
          const Matrix scaled = scale_columns(vectors, values);
          const Matrix left = itype == 1   ? full_a * vectors
                              : itype == 2 ? full_a * (full_b * vectors)
                                           : full_b * (full_a * vectors);
          EXPECT_LT(difference(left, itype == 1 ? full_b * scaled : scaled), 1000 * tolerance);
          EXPECT_LT(difference(product_of_factor(call.symmetric(Argument::b, n), upper), full_b), 40 * tolerance);
          if (!run_with('N')) return;
          EXPECT_LT(difference(product_of_factor(call.symmetric(Argument::b, n), upper), full_b), 40 * tolerance);
          const std::vector<Complex> alone = call.reals(Argument::w, count);
          for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_NEAR(alone[i].real(), values[i].real(), 1000 * tolerance);
        });
      }
    }
  }
}

TEST_P(LapackTest, GeneralizedEigenproblemsAreReduced) {
  constexpr std::int64_t order = 150;  // several blocks, the last of which is smaller
  for (const std::int64_t itype : {1, 2, 3}) {
    each_triangle(Kind::sygst, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
      const Matrix a = hermitian(order, complex, 0);
      const Matrix factor = hermitian(order, complex, 40);
      call.set(Argument::itype, itype);
      call.set_a(a);
      call.set(Argument::b, Argument::ldb, factor);
      if (!run(call)) return;
      const Matrix reduced = hermitian_of(call.matrix(Argument::a, order, order), upper);
      const Matrix triangle = triangle_of(factor, upper);
      const Matrix left = upper ? adjoint(triangle) : triangle;  // B = left * left^H
      const Matrix full = hermitian_of(a, upper);
      const double scale = itype == 1 ? 100 : 100 * 40 * 40;
      if (itype == 1)
        EXPECT_LT(difference(left * reduced * adjoint(left), full), scale * tolerance);
      else
        EXPECT_LT(difference(reduced, adjoint(left) * full * left), scale * tolerance);
    });
  }
}

/// A problem whose eigenvalues are known, and a routine that solves it.
class RangeOfValuesTest : public LapackTest {
 protected:
  static constexpr unsigned char untouched = 0x7f;

  /// Calls test(call, upper, complex, tolerance) after a_, b_ and values_ have been set.
  template <class Test>
  void each_problem(Test test) {
    for (const Kind kind : {Kind::syevr, Kind::syevx, Kind::sygvx, Kind::spevx, Kind::spgvx}) {
      each_triangle(kind, [&](LapackCall& call, bool upper, bool complex, double tolerance) {
        a_ = hermitian(n, complex, 0);
        b_ = call.has(Argument::b) ? hermitian(n, complex, 40) : identity(n);
        if (!run(call, 'A', 'N')) return;
        values_.clear();
        for (const Complex value : call.reals(Argument::w, n)) values_.push_back(value.real());
        test(call, upper, complex, tolerance);
      });
    }
  }

  void prepare(LapackCall& call, char range, char job) {
    call.set(Argument::itype, std::int64_t{1});
    call.set(Argument::job, job);
    call.set(Argument::range, range);
    call.set(Argument::n, n);
    call.set_symmetric(Argument::a, Argument::lda, a_);
    call.set_symmetric(Argument::b, Argument::ldb, b_);
    call.set(Argument::z, Argument::ldz, Matrix(n, n));
    for (const Argument result : {Argument::w, Argument::z})
      std::fill(call.bytes(result).begin(), call.bytes(result).end(), untouched);
  }
  bool run(LapackCall& call, char range, char job) {
    prepare(call, range, job);
    return LapackTest::run(call);
  }

  double between(std::size_t i) const { return (values_[i - 1] + values_[i]) / 2; }

  static bool is_untouched_from(const std::vector<unsigned char>& bytes, std::size_t first) {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(first), bytes.end(),
                       [](unsigned char byte) { return byte == untouched; });
  }

  Matrix a_{0, 0};
  Matrix b_{0, 0};
  std::vector<double> values_;
};
INSTANTIATE_TEST_SUITE_P(, RangeOfValuesTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(RangeOfValuesTest, HoldsItsEigenvaluesAndTheirVectorsAlone) {
  each_problem([&](LapackCall& call, bool upper, bool, double tolerance) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    struct Range {
      double vl, vu;
      std::size_t first;
      std::int64_t count;
    };
    for (const Range& range : {Range{between(10), between(20), 10, 10}, Range{-infinity, between(1), 0, 1},
                               Range{-infinity, infinity, 0, n}, Range{2 * values_.back(), infinity, 0, 0}}) {
      call.set_real(Argument::vl, range.vl);
      call.set_real(Argument::vu, range.vu);
      for (const char job : {'V', 'N'}) {
        if (!run(call, 'V', job)) return;
        ASSERT_EQ(call.integer(Argument::found), range.count);
        const std::vector<Complex> found = call.reals(Argument::w, range.count);
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_NEAR(found[i].real(), values_[range.first + i], 10 * tolerance);
        EXPECT_TRUE(is_untouched_from(call.bytes(Argument::w), call.real_bytes(range.count)));
        const std::int64_t columns = job == 'V' ? range.count : 0;
        EXPECT_TRUE(is_untouched_from(call.bytes(Argument::z), call.column_bytes(Argument::z, columns)));
        const Matrix vectors = call.matrix(Argument::z, n, columns);
        if (job == 'N') continue;
        const Matrix image = hermitian_of(b_, upper) * vectors;
        EXPECT_LT(difference(hermitian_of(a_, upper) * vectors, scale_columns(image, found)), 100 * tolerance);
        EXPECT_LT(difference(adjoint(vectors) * image, identity(columns)), 10 * tolerance);
      }
    }
  });
}

TEST_P(RangeOfValuesTest, ThatEndsAtAnEigenvalueFails) {
  each_problem([&](LapackCall& call, bool, bool, double) {
    for (const bool lower_end : {true, false}) {
      call.set_real(Argument::vl, lower_end ? values_[10] : between(10));
      call.set_real(Argument::vu, lower_end ? between(20) : values_[20]);
      prepare(call, 'V', 'V');
      expect_failure(call, "end of the range");
      EXPECT_TRUE(is_untouched_from(call.bytes(Argument::z), 0));
    }
  });
}

TEST_P(LapackTest, SingularValues) {
  try_singular_values();
}

TEST_P(LapackTest, SingularValuesThatWerePerturbedAreFoundAnotherWay) {
  with_perturbed_values([&] { try_singular_values(); });
}

/// The complex vectors that LAPACK packs into a real matrix.
Matrix unpack(const Matrix& packed, const std::vector<Complex>& values) {
  Matrix vectors = packed;
  for (std::int64_t j = 0; j + 1 < packed.columns; ++j) {
    if (values[static_cast<std::size_t>(j)].imag() == 0) continue;
    for (std::int64_t i = 0; i < packed.rows; ++i) {
      vectors(i, j) = {packed(i, j).real(), packed(i, j + 1).real()};
      vectors(i, j + 1) = std::conj(vectors(i, j));
    }
    ++j;
  }
  return vectors;
}

TEST_P(LapackTest, GeneralEigenproblems) {
  for (const char job : {'V', 'N'}) {
    each_type(Kind::geev, [&](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
      const Matrix a = random(n, n, complex);
      call.set(Argument::job, 'N');
      call.set(Argument::job_right, job);
      call.set_a(a);
      call.set(Argument::z, Argument::ldz, Matrix(1, 1));
      call.set(Argument::right, Argument::ld_right, Matrix(n, n));
      if (!run(call)) return;
      std::vector<Complex> values = call.numbers(Argument::w, n);
      if (!complex) {
        const std::vector<Complex> imaginary = call.reals(Argument::wi, n);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += Complex(0, 1) * imaginary[i];
      }
      Complex trace = 0;
      Complex sum = 0;
      for (std::int64_t i = 0; i < n; ++i) trace += a(i, i);
      for (const Complex value : values) sum += value;
      EXPECT_LT(std::abs(trace - sum), 10 * tolerance);
      if (job == 'N') return;
      const Matrix packed = call.matrix(Argument::right, n, n);
      const Matrix vectors = complex ? packed : unpack(packed, values);
      EXPECT_LT(difference(a * vectors, scale_columns(vectors, values)), 10 * tolerance);
      for (std::int64_t j = 0; j < n; ++j) {
        const Matrix one = columns_of(vectors, j, 1);
        EXPECT_NEAR((adjoint(one) * one)(0, 0).real(), 1, tolerance);
      }
    });
  }
}

TEST_P(LapackTest, ASingularMatrixFailsAndLeavesTheVectors) {
  LapackCall call(lapack::Routine::dgesv, 4);
  call.set_a(Matrix(n, n));
  call.set_b(random(n, few, false));
  expect_failure(call);
  EXPECT_OK(queue_->synchronize()) << "the device works";
}

TEST_P(LapackTest, WhatIsNotFiniteOrExtremeFails) {
  for (const lapack::Routine routine : {lapack::Routine::dsyevd, lapack::Routine::dspevd}) {
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(), 1e200}) {
      for (const bool upper : {true, false}) {
        LapackCall call(routine, 4);
        Matrix a = hermitian(n, false, 0);
        a(upper ? 3 : 60, upper ? 60 : 3) = bad;
        call.set(Argument::job, 'V');
        call.set(Argument::uplo, upper ? 'U' : 'L');
        call.set(Argument::n, n);
        call.set_symmetric(Argument::a, Argument::lda, a);
        if (call.has(Argument::z)) call.set(Argument::z, Argument::ldz, Matrix(n, n));
        expect_failure(call);
      }
    }
  }
}

TEST_P(LapackTest, WhatTheLibrarySaysBecomesAnError) {
  if (device_->properties().name != "fake GPU") GTEST_SKIP() << "only the fake cuSOLVER fails on demand";
  LapackCall call(lapack::Routine::dpotrf, 4);
  call.set(Argument::uplo, 'L');
  call.set_a(hermitian(n, false, 40));
  const auto kind_after = [&](const char* variable, int value) {
    setenv(variable, std::to_string(value).c_str(), 1);
    const auto done = execute(call);
    unsetenv(variable);
    EXPECT_FALSE(done);
    return done ? ErrorKind::lost : done.error().kind;
  };
  constexpr std::pair<int, ErrorKind> expected[] = {{2, ErrorKind::out_of_memory}, {3, ErrorKind::unsupported},
                                                    {4, ErrorKind::unsupported},   {6, ErrorKind::failed},
                                                    {7, ErrorKind::failed},        {9, ErrorKind::unsupported}};
  for (const auto& [status, kind] : expected)
    EXPECT_EQ(kind_after("FAKE_SOLVER_STATUS", status), kind) << "status " << status;
  EXPECT_EQ(kind_after("FAKE_SOLVER_INFO", 3), ErrorKind::failed);
  EXPECT_OK(execute(call)) << "the device works";
}

TEST_P(LapackTest, NothingMayBePinnedBesideTheLibrary) {
  if (!device_->may_pin()) GTEST_SKIP() << "nothing may be pinned here in any case";
  LapackCall call(lapack::Routine::dpotrf, 4);
  call.set(Argument::uplo, 'L');
  call.set_a(hermitian(n, false, 40));
  const auto prepared = device_->prepare(call.operation());
  if (!prepared && prepared.error().kind == ErrorKind::unsupported) GTEST_SKIP() << prepared.error().message;
  EXPECT_OK(prepared);
  auto queue = device_->create_queue();
  ASSERT_OK(queue);
  EXPECT_TRUE((*queue)->copies_heap_memory(call.operation()));
  EXPECT_TRUE(device_->may_pin()) << "before and after";
}

TEST_P(LapackTest, TheLibraryIsAmongTheSoftwareOnceItIsUsed) {
  LapackCall call(lapack::Routine::dpotrf, 4);
  call.set(Argument::uplo, 'L');
  call.set_a(hermitian(n, false, 40));
  if (run(call)) {
    EXPECT_THAT(device_->software(), testing::HasSubstr("cuSOLVER 1"));
  }
}

}  // namespace
}  // namespace blastoff::test
