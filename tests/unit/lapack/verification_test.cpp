// Verification accepts LAPACK's results, and rejects them when a single number is changed.
#include "lapack/verification.h"

#include <limits>

#include <gtest/gtest.h>

#include "on_system_lapack.h"

namespace blastoff::test {
namespace {

using operation::Comparison;
using operation::Operand;
using operation::Operation;

class Verification : public OnSystemLapack {
 protected:
  /// Relative to the norm of the result.
  static double perturbation() { return is_single() ? 1e-3 : 1e-8; }

  /// Whether verification checks only the order of a number, or nothing at all; see lapack/verification.h.
  static bool half_known(const lapack::Problem& problem, Argument argument, std::int64_t position) {
    if (argument != Argument::w || problem.wants_vectors()) return false;
    if (lapack::row(kind()).family == lapack::Family::least_norm) return position > 0;
    if (lapack::row(kind()).family == lapack::Family::singular_values)
      return (problem.job == 'n' || problem.job_right == 'n') && position > 0;
    return problem.eigenvalues() < problem.n || problem.counts_afterwards() || problem.itype != 0;
  }

  /// gelss returns singular vectors in the first rows of a matrix that is not wide. All else of A means nothing.
  static bool is_destroyed(const lapack::Problem& problem, Argument argument, std::int64_t row) {
    return kind() == Kind::gelss && argument == Argument::a && (problem.m < problem.n || row >= problem.n);
  }

  /// gelsd and gelss return a rotated residual below the solution.
  static bool only_length_is_known(const lapack::Problem& problem, Argument argument, std::int64_t row) {
    return lapack::row(kind()).family == lapack::Family::least_norm && argument == Argument::b && row >= problem.n;
  }

  void expect_refusal(const operation::Verification& verification, const std::string& what) {
    const Comparison comparison = verification.compare();
    EXPECT_TRUE(comparison.checked) << what;
    EXPECT_GT(comparison.relative_error, comparison.bound) << what;
  }

  static bool example_has_reflectors() { return kind() == Kind::orgqr || kind() == Kind::ormqr; }

  static void scale(Example& example, Argument argument, double factor) {
    each_element(example, argument, [&](std::int64_t, std::int64_t, Number value) { return factor * value; });
  }

  /// Scales the rows by numbers from 1 down to `least`, and also the columns of a matrix of which one triangle is
  /// stored.
  static void scale_rows(Example& example, Argument argument, double least) {
    const double order = static_cast<double>(example.call().problem().n);
    const bool reflected = example.has(Argument::uplo) && (argument == Argument::a || example.has(Argument::itype));
    const auto factor = [&](std::int64_t i) { return std::pow(least, static_cast<double>(i) / order); };
    each_element(example, argument, [&](std::int64_t i, std::int64_t j, Number value) {
      return factor(i) * (reflected ? factor(j) : 1) * value;
    });
  }

  template <class Change>
  static void each_element(Example& example, Argument argument, Change change) {
    const lapack::Problem problem = example.call().problem();
    const bool packed = problem.packed();
    const lapack::MatrixShape shape =
        packed ? lapack::MatrixShape{problem.n, problem.n} : matrix_shape(problem, argument);
    for (std::int64_t j = 0; j < shape.columns; ++j)
      for (std::int64_t i = 0; i < shape.rows; ++i)
        if (!packed || (problem.upper() ? i <= j : i >= j))
          example.set_element(argument, i, j, change(i, j, example.element(argument, i, j)));
  }

  template <class Change>
  static void expect_acceptance(const Options& each, Change change) {
    Example example(GetParam(), each);
    change(example);
    const Operation operation = example.call().operation();
    const auto problem = operation.payload<lapack::Problem>();
    SCOPED_TRACE(text(problem));
    const auto verification = lapack::verify(operation);
    if (!host().compute(operation)) return;
    const Comparison comparison = verification->compare();
    EXPECT_LE(comparison.relative_error, comparison.bound);
  }

  void change_matrix(Example& example, const Operation& operation, Argument argument,
                     const operation::Verification& verification) {
    const auto problem = operation.payload<lapack::Problem>();
    const Operand operand = example.operand(operation, argument);
    if (!writes(operand.intent) || operand.empty()) return;
    PaddedMatrix& matrix = example.matrix(argument);
    const double change = perturbation() * norm(problem, operand, matrix);
    for (const auto& [row, column] :
         {std::pair{0.5, 0.4}, {0.4, 0.5}, {0.0, 0.9}, {0.9, 0.0}, {1.0, 1.0}, {0.0, 0.0}}) {
      const auto i = static_cast<std::int64_t>(row * static_cast<double>(operand.rows - 1));
      const auto j = static_cast<std::int64_t>(column * static_cast<double>(operand.columns - 1));
      if (!refers_to(problem, operand, i, j) || is_destroyed(problem, argument, i)) continue;
      const Number value = matrix.get(i, j);
      const std::string place = "matrix " + std::to_string(static_cast<int>(argument)) + " at " + std::to_string(i) +
                                ", " + std::to_string(j);
      matrix.set(i, j, value + (only_length_is_known(problem, argument, i) ? 20 : 1) * change);
      expect_refusal(verification, place);
      matrix.set(i, j, std::nan(""));
      expect_refusal(verification, place + ": NaN");
      matrix.set(i, j, std::numeric_limits<double>::infinity());
      expect_refusal(verification, place + ": infinity");
      matrix.set(i, j, value);
    }
  }

  static double norm(const lapack::Problem& problem, const Operand& operand, const PaddedMatrix& matrix) {
    double sum = 0;
    for (std::int64_t j = 0; j < operand.columns; ++j)
      for (std::int64_t i = 0; i < operand.rows; ++i)
        if (refers_to(problem, operand, i, j)) sum += std::norm(matrix.get(i, j));
    return std::sqrt(sum);
  }

  void change_vector(Example& example, const Operation& operation, Argument argument,
                     const operation::Verification& verification) {
    const auto problem = operation.payload<lapack::Problem>();
    lapack::VectorShape shape = vector_shape(problem, argument);
    if (!writes(shape.intent)) return;
    shape.count = static_cast<std::int64_t>(result_bytes(problem, argument, example.found()) / shape.element_bytes);
    if (shape.count == 0) return;
    const blas::Scalar scalar = shape.element_bytes == problem.element_bytes() ? problem.scalar()
                                : is_single()                                  ? blas::Scalar::s
                                                                               : blas::Scalar::d;
    PaddedMatrix vector(scalar, shape.count, 1);
    std::vector<char>& bytes = example.bytes(argument);
    const auto size = static_cast<std::ptrdiff_t>(shape.element_bytes) * shape.count;
    std::copy_n(bytes.begin(), size, vector.bytes().begin());
    double square = 0;
    for (std::int64_t i = 0; i < shape.count; ++i) square += std::norm(vector.get(i, 0));
    for (const std::int64_t i : {std::int64_t{0}, shape.count / 2, shape.count - 1}) {
      const Number value = vector.get(i, 0);
      const auto refuse = [&](Number changed, const char* what) {
        vector.set(i, 0, changed);
        std::copy_n(vector.bytes().begin(), size, bytes.begin());
        expect_refusal(verification,
                       "vector " + std::to_string(static_cast<int>(argument)) + " at " + std::to_string(i) + what);
      };
      if (!half_known(problem, argument, i)) refuse(value + perturbation() * std::sqrt(square), "");
      refuse(std::nan(""), ": NaN");
      vector.set(i, 0, value);
      std::copy_n(vector.bytes().begin(), size, bytes.begin());
    }
  }

  void change_integers(Example& example, const Operation& operation, Argument argument,
                       const operation::Verification& verification) {
    const auto problem = operation.payload<lapack::Problem>();
    const lapack::VectorShape shape = vector_shape(problem, argument);
    if (!writes(shape.intent)) return;
    for (const std::int64_t changed : {std::int64_t{1}, std::int64_t{0}, std::int64_t{100000}}) {
      const auto position = static_cast<std::size_t>(shape.count / 2);
      const std::int64_t value = example.integer(argument, position);
      if (changed == value) continue;
      if (problem.counts_afterwards() && changed < value) continue;  // the remaining results would be correct
      example.set_integer(argument, changed, position);
      expect_refusal(verification, "integer " + std::to_string(static_cast<int>(argument)));
      example.set_integer(argument, value, position);
    }
  }
};

TEST_P(Verification, AcceptsResultsAndRefusesChangedOnes) {
  for (const Options& each : options()) {
    Example example(GetParam(), each);
    const Operation operation = example.call().operation();
    SCOPED_TRACE(text(operation.payload<lapack::Problem>()));
    const auto verification = lapack::verify(operation);
    ASSERT_TRUE(host().compute(operation));
    const Comparison comparison = verification->compare();
    EXPECT_TRUE(comparison.checked);
    EXPECT_LE(comparison.relative_error, comparison.bound);
    EXPECT_GT(comparison.bound, 0);
    for (const Argument argument : lapack::argument_list(GetParam())) {
      if (is_matrix(argument)) change_matrix(example, operation, argument, *verification);
      if (argument == Argument::tau || argument == Argument::w || argument == Argument::wi)
        change_vector(example, operation, argument, *verification);
      if (argument == Argument::ipiv || argument == Argument::found || argument == Argument::rank)
        change_integers(example, operation, argument, *verification);
    }
    EXPECT_LE(verification->compare().relative_error, comparison.relative_error);
  }
}

TEST_P(Verification, AcceptsResultsOfSmallProblems) {
  for (Options each : options())
    for (const std::int64_t order : {1, 2, 3}) {
      each.m = std::min(each.m, order);
      each.n = std::min(each.n, order);
      each.k = std::min(each.k, order);
      expect_acceptance(each, [](Example&) {});
    }
}

TEST_P(Verification, AcceptsResultsOfIllConditionedProblems) {
  if (example_has_reflectors()) return;
  const double range = is_single() ? 1e-3 : 1e-7;
  for (const Options& each : options())
    expect_acceptance(each, [&](Example& example) {
      for (const Argument argument : {Argument::a, Argument::b})
        if (example.has(argument)) scale_rows(example, argument, range);
    });
}

TEST_P(Verification, AcceptsResultsOfLargeAndSmallNumbers) {
  if (is_single() || example_has_reflectors()) return;
  if (kind() == Kind::sygst) return;  // LAPACK squares the factor's diagonal, which overflows
  for (const Options& each : options()) {
    // If a product of both matrices overflows, the scaled range is empty, and LAPACK ends the program with status 0.
    if (lapack::row(kind()).arguments.has(Argument::itype) && each.range == 'V') continue;
    for (const double factor : {1e160, 1e-150})
      expect_acceptance(each, [&](Example& example) {
        for (const Argument argument : {Argument::a, Argument::b})
          if (example.has(argument)) scale(example, argument, factor);
      });
  }
}

// LAPACK balances such a matrix, and its eigenvectors are no longer right relative to the norm of the matrix. The
// numbers are what bytes that count up are as numbers (SciPy's own tests).
TEST_P(Verification, AcceptsResultsOfBadlyScaledMatricesWithoutSymmetry) {
  if (kind() != Kind::geev) return;
  const int exponents = is_single() ? 250 : 2000;
  for (const Options& each : options())
    expect_acceptance(each, [&](Example& example) {
      each_element(example, Argument::a, [&](std::int64_t i, std::int64_t j, Number value) {
        return value * std::exp2((example.call().problem().n * i + j) * 8 % exponents - exponents / 2);
      });
    });
}

INSTANTIATE_TEST_SUITE_P(Every, Verification, testing::ValuesIn(every_routine()), name_of);

}  // namespace
}  // namespace blastoff::test
