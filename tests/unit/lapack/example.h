// A call of a LAPACK routine with random arguments in its own memory. All memory that the routine must not read holds
// NaN: padding, the other triangle, results.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "blas/integer.h"
#include "element.h"
#include "lapack/call.h"

namespace blastoff::test {

using lapack::Argument;
using lapack::Kind;
using lapack::Routine;
using Number = std::complex<double>;

inline Routine routine_of(Kind kind, blas::Scalar scalar) {
  for (std::size_t i = 0; i < lapack::routine_count; ++i)
    if (lapack::routine_table[i].kind == kind && lapack::routine_table[i].scalar == scalar)
      return static_cast<Routine>(i);
  return Routine{};
}

struct Options {
  std::int64_t m = 37;
  std::int64_t n = 37;
  std::int64_t k = 3;
  char uplo = 'L';
  char trans = 'N';
  char diag = 'N';
  char side = 'L';
  char job = 'N';
  char job_right = 'N';
  char range = 'A';
  int itype = 1;
};

/// A column-major matrix, with or without rows of padding below each column. Every byte that is not set is 0xFF, so
/// that numbers there are NaN.
class PaddedMatrix {
 public:
  PaddedMatrix() = default;
  PaddedMatrix(blas::Scalar scalar, std::int64_t rows, std::int64_t columns, std::int64_t padding = 3)
      : scalar_(scalar),
        leading_dimension_(rows + padding),
        bytes_(static_cast<std::size_t>(std::max<std::int64_t>(1, leading_dimension_ * columns)) * size(), '\xFF') {}

  std::int64_t leading_dimension() const { return leading_dimension_; }
  std::vector<char>& bytes() { return bytes_; }

  Number get(std::int64_t row, std::int64_t column) const {
    return blas::element(scalar_, bytes_.data() + offset(row, column));
  }
  void set(std::int64_t row, std::int64_t column, Number value) {
    write_element(scalar_, bytes_.data() + offset(row, column), value);
  }

  std::size_t offset(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row + column * leading_dimension_) * size();
  }

 private:
  std::size_t size() const { return blas::element_size(scalar_); }

  blas::Scalar scalar_ = blas::Scalar::d;
  std::int64_t leading_dimension_ = 1;
  std::vector<char> bytes_;
};

class Example {
 public:
  explicit Example(Routine routine, const Options& options = {}, std::uint8_t integer_bytes = 4)
      : routine_(routine), integer_bytes_(integer_bytes) {
    for (const Argument argument : lapack::argument_list(routine)) bytes_[index(argument)].assign(16, '\xFF');
    place_options(options);
    const lapack::Problem problem = call().problem();
    for (const Argument argument : lapack::argument_list(routine)) {
      if (is_matrix(argument)) place_matrix(problem, argument);
      if (is_vector(argument)) place_vector(problem, argument);
    }
    fill(problem);
  }
  Example(const Example&) = delete;
  Example& operator=(const Example&) = delete;

  /// Makes the call, which is valid until the next one is made.
  lapack::Call call() {
    words_.clear();
    for (const Argument argument : lapack::argument_list(routine_)) words_.push_back(address(argument));
    return {routine_, words_, integer_bytes_};
  }

  PaddedMatrix& matrix(Argument argument) { return matrices_[index(argument)]; }
  std::vector<char>& bytes(Argument argument) {
    return is_matrix(argument) ? matrix(argument).bytes() : bytes_[index(argument)];
  }

  /// An element of a matrix, which may be packed.
  Number element(Argument argument, std::int64_t i, std::int64_t j) {
    const auto [row, column] = place_of(argument, i, j);
    return matrix(argument).get(row, column);
  }
  void set_element(Argument argument, std::int64_t i, std::int64_t j, Number value) {
    const auto [row, column] = place_of(argument, i, j);
    matrix(argument).set(row, column, value);
  }

  bool has(Argument argument) const { return lapack::argument_list(routine_).has(argument); }
  bool packed() const { return lapack::row(row(routine_).kind).packed; }
  void set_letter(Argument argument, char letter) { bytes(argument).front() = letter; }
  void set_integer(Argument argument, std::int64_t value, std::size_t position = 0) {
    blas::put_integer(bytes(argument).data() + position * integer_bytes_, value, integer_bytes_);
  }
  std::int64_t integer(Argument argument, std::size_t position = 0) {
    return blas::integer_at(bytes(argument).data() + position * integer_bytes_, integer_bytes_);
  }

  void set_real(Argument argument, double value) {
    const blas::Scalar scalar = row(routine_).scalar;
    const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
    write_element(single ? blas::Scalar::s : blas::Scalar::d, bytes(argument).data(), value);
  }

  /// The number of eigenvalues that were found; call it after the routine.
  std::int64_t found() {
    const lapack::Problem problem = call().problem();
    return problem.counts_afterwards() ? integer(Argument::found) : problem.eigenvalues();
  }
  /// The operand of the operation, after the routine: if the number of eigenvectors is known only then, it has the
  /// eigenvectors that were found.
  operation::Operand operand(const operation::Operation& operation, Argument argument) {
    operation::Operand operand = operation.operands()[operand_index(routine_, argument)];
    const lapack::Problem problem = call().problem();
    if (argument != Argument::z || !has_eigenvectors_afterwards(problem)) return operand;
    operand.rows = problem.n;
    operand.columns = found();
    return operand;
  }

  /// The bytes of every argument.
  std::vector<std::vector<char>> contents() {
    std::vector<std::vector<char>> result;
    for (const Argument argument : lapack::argument_list(routine_)) result.push_back(bytes(argument));
    return result;
  }

 private:
  static std::size_t index(Argument argument) { return static_cast<std::size_t>(argument); }
  void* address(Argument argument) { return bytes(argument).data(); }

  std::pair<std::int64_t, std::int64_t> place_of(Argument argument, std::int64_t i, std::int64_t j) {
    if (!packed() || argument == Argument::z) return {i, j};
    const lapack::Problem problem = call().problem();
    return {problem.upper() ? i + j * (j + 1) / 2 : i + j * (2 * problem.n - j - 1) / 2, 0};
  }

  void place_options(const Options& options) {
    for (const auto& [argument, letter] : {std::pair{Argument::uplo, options.uplo},
                                           {Argument::trans, options.trans},
                                           {Argument::diag, options.diag},
                                           {Argument::side, options.side},
                                           {Argument::job, options.job},
                                           {Argument::job_right, options.job_right},
                                           {Argument::range, options.range}})
      if (has(argument)) set_letter(argument, letter);
    const std::int64_t n = options.n;
    for (const auto& [argument, value] : {std::pair{Argument::itype, std::int64_t{options.itype}},
                                          {Argument::m, options.m},
                                          {Argument::n, n},
                                          {Argument::k, options.k},
                                          {Argument::nrhs, options.k},
                                          {Argument::il, std::min<std::int64_t>(n, 3)},
                                          {Argument::iu, std::min<std::int64_t>(n, 12)},
                                          {Argument::lwork, 1 << 20},
                                          {Argument::lrwork, 1 << 20},
                                          {Argument::liwork, 1 << 20}})
      if (has(argument)) set_integer(argument, value);
    if (has(Argument::rcond)) set_real(Argument::rcond, 1e-5);
    if (!has(Argument::abstol)) return;
    const double order = static_cast<double>(std::max<std::int64_t>(1, n));
    const double unit = !has(Argument::itype) ? 1 : options.itype == 1 ? 1 / order : order;
    set_real(Argument::abstol, 0);
    set_real(Argument::vl, -5 * unit);
    set_real(Argument::vu, 20 * unit);
  }

  void place_matrix(const lapack::Problem& problem, Argument argument) {
    lapack::MatrixShape shape = matrix_shape(problem, argument);
    if (packed() && argument != Argument::z) {  // another column of NaN follows
      matrix(argument) = PaddedMatrix(problem.scalar(), shape.rows, shape.columns + 1, 0);
      return;
    }
    if (argument == Argument::z && has_eigenvectors_afterwards(problem)) shape.columns = problem.n;
    matrix(argument) = PaddedMatrix(problem.scalar(), shape.rows, shape.columns);
    const Argument leading_dimension = argument == Argument::a   ? Argument::lda
                                       : argument == Argument::b ? Argument::ldb
                                       : argument == Argument::z ? Argument::ldz
                                                                 : Argument::ld_right;
    set_integer(leading_dimension, matrix(argument).leading_dimension());
  }

  void place_vector(const lapack::Problem& problem, Argument argument) {
    const lapack::VectorShape shape = vector_shape(problem, argument);
    bytes(argument).assign(static_cast<std::size_t>(shape.count) * shape.element_bytes + 16, '\xFF');
  }

  double random() { return std::uniform_real_distribution<double>(-1, 1)(engine_); }
  Number random_number() {
    const double real = random();
    return {real, random()};
  }

  void fill(const lapack::Problem& problem) {
    using lapack::Action;
    using lapack::Family;
    const lapack::KindRow& kind = kind_row(problem);
    switch (kind.family) {
      case Family::cholesky:
        if (kind.action == Action::solve || kind.action == Action::invert) {
          fill_triangle(problem);
        } else {
          fill_hermitian(problem, Argument::a, static_cast<double>(problem.n));
        }
        break;
      case Family::triangle: fill_triangle(problem); break;
      case Family::indefinite:
        if (kind.factors_given) {
          fill_triangle(problem);
          fill_symmetric_pivots(problem);
        } else {
          fill_part(problem, Argument::a, [&](std::int64_t, std::int64_t) { return random_number(); });
        }
        break;
      case Family::lu:
        if (kind.factors_given) {
          fill_factors(problem);
        } else {
          fill_general(problem, Argument::a, kind.action == Action::factor_and_solve ? 6 : 0);
        }
        break;
      case Family::orthogonal:
        if (kind.factors_given) {
          fill_reflectors(problem);
        } else {
          fill_general(problem, Argument::a, 0);
        }
        break;
      case Family::eigenproblem: fill_hermitian(problem, Argument::a, 0); break;
      case Family::generalized_eigenproblem:
        fill_hermitian(problem, Argument::a, 0);
        fill_hermitian(problem, Argument::b, static_cast<double>(problem.n));
        return;
      case Family::reduction:
        fill_hermitian(problem, Argument::a, 0);
        fill_triangle(problem, Argument::b);
        return;
      default: fill_general(problem, Argument::a, 0);
    }
    if (has(Argument::b)) fill_general(problem, Argument::b, 0);
    if (has(Argument::nrhs))  // memory for solutions only
      for (std::int64_t j = 0; j < problem.k; ++j)
        for (std::int64_t i = problem.m; i < problem.n; ++i) matrix(Argument::b).set(i, j, std::nan(""));
  }

  void fill_general(const lapack::Problem& problem, Argument argument, double diagonal) {
    const lapack::MatrixShape shape = matrix_shape(problem, argument);
    for (std::int64_t j = 0; j < shape.columns; ++j)
      for (std::int64_t i = 0; i < shape.rows; ++i)
        matrix(argument).set(i, j, random_number() + (i == j ? diagonal : 0));
  }

  template <class Element>
  void fill_part(const lapack::Problem& problem, Argument argument, Element element) {
    for (std::int64_t j = 0; j < problem.n; ++j)
      for (std::int64_t i = problem.upper() ? 0 : j; i < (problem.upper() ? j + 1 : problem.n); ++i)
        set_element(argument, i, j, element(i, j));
  }

  /// The imaginary parts of the diagonal must not be read.
  void fill_hermitian(const lapack::Problem& problem, Argument argument, double diagonal) {
    fill_part(problem, argument, [&](std::int64_t i, std::int64_t j) {
      return i == j ? Number(diagonal + random(), ignored_imaginary_part) : random_number();
    });
  }

  /// A triangle near the unit matrix; an implicit diagonal of ones is filled with NaN.
  void fill_triangle(const lapack::Problem& problem, Argument argument = Argument::a) {
    const double small = 1 / std::sqrt(static_cast<double>(problem.n));
    const double diagonal = problem.diag == 'u' ? std::nan("") : 2;
    fill_part(problem, argument, [&](std::int64_t i, std::int64_t j) {
      return i == j ? diagonal + random() / 2 : small * random_number();
    });
  }

  void fill_factors(const lapack::Problem& problem) {
    const double small = 1 / std::sqrt(static_cast<double>(problem.n));
    for (std::int64_t j = 0; j < problem.n; ++j) {
      for (std::int64_t i = 0; i < problem.n; ++i)
        matrix(Argument::a).set(i, j, i == j ? 2.0 + random_number() / 2.0 : small * random_number());
      const auto below = static_cast<std::uint64_t>(problem.n - j);
      set_integer(Argument::ipiv, j + 1 + static_cast<std::int64_t>(engine_() % below), static_cast<std::size_t>(j));
    }
  }

  /// Pivots of one row, and of two rows in the middle.
  void fill_symmetric_pivots(const lapack::Problem& problem) {
    const std::int64_t n = problem.n;
    const auto set = [&](std::int64_t row, std::int64_t pivot) {
      set_integer(Argument::ipiv, pivot, static_cast<std::size_t>(row - 1));
    };
    const auto partner = [&](std::int64_t row) {
      const std::int64_t rows = problem.upper() ? row : n - row + 1;
      const auto distance = static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(rows));
      return problem.upper() ? row - distance : row + distance;
    };
    for (std::int64_t row = 1; row <= n; ++row) set(row, partner(row));
    const std::int64_t middle = n / 2;
    if (middle < 2) return;
    const std::int64_t pivot = -partner(problem.upper() ? middle - 1 : middle);
    set(middle - 1, pivot);
    set(middle, pivot);
  }

  /// Fills the reflectors; the rest of the columns is NaN.
  void fill_reflectors(const lapack::Problem& problem) {
    const std::int64_t rows = matrix_shape(problem, Argument::a).rows;
    PaddedMatrix tau(problem.scalar(), problem.k, 1);
    for (std::int64_t j = 0; j < problem.k; ++j) {
      double square = 1;
      for (std::int64_t i = j + 1; i < rows; ++i) {
        const Number value = random_number() / 4.0;
        matrix(Argument::a).set(i, j, value);
        square += std::norm(matrix(Argument::a).get(i, j));
      }
      tau.set(j, 0, 2 / square);
    }
    std::memcpy(address(Argument::tau), tau.bytes().data(),
                static_cast<std::size_t>(problem.k) * problem.element_bytes());
  }

  static constexpr double ignored_imaginary_part = 0.25;

  std::vector<void*> words_;
  Routine routine_;
  std::uint8_t integer_bytes_;
  std::mt19937 engine_{7};
  std::array<std::vector<char>, lapack::argument_count> bytes_;
  std::array<PaddedMatrix, lapack::argument_count> matrices_;
};

/// All combinations of a routine's options that change the computation, each once.
inline std::vector<Options> all_options(Kind kind, bool complex) {
  const std::vector<Options> shapes{{}, {.m = 37, .n = 23, .k = 11}, {.m = 23, .n = 37, .k = 11}};
  std::vector<Options> result{{}};
  const auto vary = [&](auto member, auto... values) {
    std::vector<Options> varied;
    for (Options options : result) ((options.*member = values, varied.push_back(options)), ...);
    result = varied;
  };
  using lapack::Action;
  using lapack::Family;
  const lapack::KindRow& row = lapack::row(kind);
  const bool factors = row.action == Action::factor && (row.family == Family::lu || row.family == Family::orthogonal);
  if (factors || row.family == Family::singular_values || row.family == Family::least_norm) result = shapes;
  if (row.family == Family::least_squares) result = {{.m = 37, .n = 23, .k = 11}, {.m = 37, .n = 36, .k = 1}, {}};
  if (row.action == Action::generate) result = {{.m = 37, .n = 23, .k = 11}, {.k = 37}};
  if (row.action == Action::multiply) result = {{.m = 37, .n = 23, .k = 11}, {.m = 23, .n = 37, .k = 23}};
  const auto has = [&](Argument argument) { return row.arguments.has(argument); };
  if (has(Argument::uplo)) vary(&Options::uplo, 'U', 'L');
  if (has(Argument::trans) && !row.adjoint_only) vary(&Options::trans, 'N', 'T', 'C');
  if (has(Argument::side)) vary(&Options::trans, 'N', complex ? 'C' : 'T');
  if (has(Argument::side)) vary(&Options::side, 'L', 'R');
  if (has(Argument::diag)) vary(&Options::diag, 'N', 'U');
  if (has(Argument::range)) vary(&Options::range, 'A', 'I', 'V');
  if (has(Argument::itype)) vary(&Options::itype, 1, 2, 3);
  if (row.family == Family::general_eigenproblem) {
    vary(&Options::job_right, 'N', 'V');
  } else if (row.family == Family::singular_values) {
    vary(&Options::job, 'N', 'S', 'A');
    vary(&Options::job_right, 'N', 'S', 'A');
    if (!has(Argument::job_right))
      std::erase_if(result, [](const Options& each) { return each.job != each.job_right; });
  } else if (has(Argument::job)) {
    vary(&Options::job, 'N', 'V');
  }
  return result;
}

}  // namespace blastoff::test
