// A call of LAPACK in its own memory, dense matrices to check its results with, and a queue of a device to run it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blas/integer.h"
#include "blas/types.h"
#include "blas_front_end.h"
#include "device_fixture.h"
#include "element.h"
#include "lapack/call.h"
#include "reference_blas.h"

namespace blastoff::test {

using device::ErrorKind;
using lapack::Argument;
using lapack::Kind;
using operation::Part;

inline const bool lapack_added = [] {
  operation::add_front_end(lapack::lapack());
  return true;
}();

using Complex = std::complex<double>;

/// A column-major matrix. Its elements are complex numbers in double precision, whatever the routine's type.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<Complex> elements{};

  Matrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), elements(static_cast<std::size_t>(m * n)) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i + j * rows)]; }
  Complex operator()(std::int64_t i, std::int64_t j) const { return elements[static_cast<std::size_t>(i + j * rows)]; }
};

inline Matrix identity(std::int64_t n) {
  Matrix result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result(i, i) = 1;
  return result;
}

inline Matrix adjoint(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) result(j, i) = std::conj(a(i, j));
  return result;
}

inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (std::int64_t j = 0; j < b.columns; ++j)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) += a(i, k) * b(k, j);
  return result;
}

inline Matrix scale_columns(Matrix a, const std::vector<Complex>& factors) {
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) a(i, j) *= factors[static_cast<std::size_t>(j)];
  return a;
}

inline Matrix columns_of(const Matrix& a, std::int64_t first, std::int64_t count) {
  Matrix result(a.rows, count);
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) result(i, j) = a(i, first + j);
  return result;
}

/// One triangle of a matrix, with zeros elsewhere.
inline Matrix triangle_of(const Matrix& a, bool upper, bool unit = false) {
  Matrix result(a.rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      if (i == j && unit)
        result(i, j) = 1;
      else if (upper ? i <= j : i >= j)
        result(i, j) = a(i, j);
  return result;
}

/// The Hermitian matrix that a triangle represents.
inline Matrix hermitian_of(const Matrix& a, bool upper) {
  Matrix result = triangle_of(a, upper);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      if (upper ? i > j : i < j) result(i, j) = std::conj(result(j, i));
  return result;
}

inline double difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.elements.size(), b.elements.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.elements.size(); ++i)
    largest = std::max(largest, std::abs(a.elements[i] - b.elements[i]));
  return largest;
}

/// A call and its memory: the arguments are in host memory, and matrices have gaps between their columns.
class LapackCall {
 public:
  LapackCall(lapack::Routine routine, std::uint8_t integer_bytes) : routine_(routine), integer_bytes_(integer_bytes) {
    for (const Argument argument : lapack::argument_list(routine)) bytes(argument).assign(1 << 16, 0);
    for (const Argument work : {Argument::lwork, Argument::lrwork, Argument::liwork}) set(work, std::int64_t{1} << 20);
  }

  std::vector<unsigned char>& bytes(Argument argument) { return memory_[argument]; }
  void set(Argument argument, char letter) { bytes(argument).at(0) = static_cast<unsigned char>(letter); }
  void set(Argument argument, std::int64_t value) {
    bytes(argument).resize(sizeof value);
    std::memcpy(bytes(argument).data(), &value, integer_bytes_);
  }
  std::size_t column_bytes(Argument argument, std::int64_t columns) {
    return static_cast<std::size_t>(columns * strides_[argument]) * element_bytes();
  }
  std::size_t real_bytes(std::int64_t count) const {
    return static_cast<std::size_t>(count) * (single() ? sizeof(float) : sizeof(double));
  }
  void set_real(Argument argument, double value) { write(bytes(argument), 0, value); }
  void set(Argument argument, Argument leading_dimension, const Matrix& matrix) {
    const std::int64_t stride = matrix.rows + 3;
    set(leading_dimension, stride);
    auto& to = bytes(argument);
    to.assign(static_cast<std::size_t>(stride * matrix.columns) * element_bytes(), 0x7f);
    for (std::int64_t j = 0; j < matrix.columns; ++j)
      for (std::int64_t i = 0; i < matrix.rows; ++i) write(to, static_cast<std::size_t>(i + j * stride), matrix(i, j));
    strides_[argument] = stride;
  }
  /// Sets the matrix, and the arguments with its size.
  void set_a(const Matrix& a) {
    if (has(Argument::m)) set(Argument::m, a.rows);
    set(Argument::n, a.columns);
    set(Argument::a, Argument::lda, a);
  }
  /// Sets the right sides, and their number.
  void set_b(const Matrix& b) {
    set(Argument::nrhs, b.columns);
    set(Argument::b, Argument::ldb, b);
  }

  /// Sets a matrix of which the routine takes the triangle that `uplo` names, in packed form if the routine takes that.
  void set_symmetric(Argument argument, Argument leading_dimension, const Matrix& matrix) {
    if (!packed()) return set(argument, leading_dimension, matrix);
    auto& to = bytes(argument);
    to.assign(static_cast<std::size_t>(matrix.rows * (matrix.rows + 1) / 2) * element_bytes(), 0x7f);
    each_packed(matrix.rows,
                [&](std::size_t index, std::int64_t i, std::int64_t j) { write(to, index, matrix(i, j)); });
  }
  /// The matrix with this triangle; the elements outside the triangle have no meaning.
  Matrix symmetric(Argument argument, std::int64_t order) {
    if (!packed()) return matrix(argument, order, order);
    Matrix result(order, order);
    each_packed(order, [&](std::size_t index, std::int64_t i, std::int64_t j) {
      result(i, j) = read(bytes(argument), index, complex());
    });
    return result;
  }
  blas::Scalar scalar() const { return lapack::row(routine_).scalar; }
  std::uint8_t integer_bytes() const { return integer_bytes_; }
  bool has(Argument argument) const { return lapack::argument_list(routine_).has(argument); }

  Matrix matrix(Argument argument, std::int64_t rows, std::int64_t columns) {
    Matrix result(rows, columns);
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i)
        result(i, j) = read(bytes(argument), static_cast<std::size_t>(i + j * strides_[argument]), complex());
    return result;
  }
  std::vector<Complex> reals(Argument argument, std::int64_t count) { return numbers(argument, count, false); }
  std::vector<Complex> numbers(Argument argument, std::int64_t count) { return numbers(argument, count, complex()); }
  std::int64_t integer(Argument argument, std::size_t index = 0) {
    return blas::integer_at(bytes(argument).data() + index * integer_bytes_, integer_bytes_);
  }

  /// What the function has returned.
  double value() const { return single() ? static_cast<double>(value_[0]) : std::bit_cast<double>(value_); }

  operation::Operation operation() {
    std::vector<void*> words;
    for (const Argument argument : lapack::argument_list(routine_)) words.push_back(bytes(argument).data());
    const lapack::Call call(routine_, words, integer_bytes_, &value_);
    EXPECT_TRUE(call.valid());
    EXPECT_TRUE(call.supported());
    return call.operation();
  }

 private:
  bool complex() const { return blas::is_complex(lapack::row(routine_).scalar); }
  bool single() const { return scalar() == blas::Scalar::s || scalar() == blas::Scalar::c; }
  std::size_t element_bytes() const { return blas::element_size(lapack::row(routine_).scalar); }
  bool packed() const { return lapack::row(lapack::row(routine_).kind).packed; }

  /// Calls visit(index, i, j) for the elements of a packed triangle, in their order.
  template <class Visit>
  void each_packed(std::int64_t order, Visit visit) {
    const bool upper = bytes(Argument::uplo).front() == 'U';
    std::size_t index = 0;
    for (std::int64_t j = 0; j < order; ++j)
      for (std::int64_t i = upper ? 0 : j; i < (upper ? j + 1 : order); ++i) visit(index++, i, j);
  }

  std::vector<Complex> numbers(Argument argument, std::int64_t count, bool as_complex) {
    std::vector<Complex> result;
    for (std::int64_t i = 0; i < count; ++i)
      result.push_back(read(bytes(argument), static_cast<std::size_t>(i), as_complex));
    return result;
  }
  Complex read(const std::vector<unsigned char>& from, std::size_t index, bool as_complex) const {
    const blas::Scalar scalar = as_complex ? this->scalar() : single() ? blas::Scalar::s : blas::Scalar::d;
    return blas::element(scalar, reinterpret_cast<const char*>(from.data()) + index * blas::element_size(scalar));
  }
  void write(std::vector<unsigned char>& to, std::size_t index, Complex value) const {
    write_element(scalar(), to.data() + index * element_bytes(), value);
  }

  const lapack::Routine routine_;
  const std::uint8_t integer_bytes_;
  std::map<Argument, std::vector<unsigned char>> memory_;
  std::array<float, 2> value_{};
  std::map<Argument, std::int64_t> strides_;
};

inline lapack::Routine find_routine(Kind kind, blas::Scalar scalar) {
  std::size_t index = 0;
  while (lapack::routine_table[index].kind != kind || lapack::routine_table[index].scalar != scalar) ++index;
  return static_cast<lapack::Routine>(index);
}

class LapackTest : public DeviceTest {
 protected:
  static constexpr std::int64_t n = 70;
  static constexpr std::int64_t tall = 110;
  static constexpr std::int64_t few = 7;

  void SetUp() override {
    DeviceTest::SetUp();
    if (device_ != nullptr) queue_ = queue();
  }

  /// Runs the call's operation on the device. Checks that everything else is unchanged: operands that are only read,
  /// the other triangle, and after a failure every vector.
  device::Status execute(LapackCall& call) {
    const operation::Operation on_host = call.operation();
    operation::Operation on_device = on_host;
    std::vector<std::unique_ptr<DeviceMemory>> memory;
    std::vector<Bytes> before;
    for (auto& operand : on_device.operands()) {
      const std::size_t bytes = operand.span_bytes();
      memory.push_back(std::make_unique<DeviceMemory>(*device_, bytes));
      const auto* const first = static_cast<const unsigned char*>(operand.address);
      before.emplace_back(first, first + bytes);
      upload(*queue_, memory.back()->address(), before.back());
      operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.back()->address()));
    }
    const std::vector<Bytes> vectors = contents(on_host);
    const auto done = queue_->execute(on_device, host_);
    if (!done) {
      EXPECT_EQ(contents(on_host), vectors);
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const operation::Operand& operand = on_host.operands()[i];
      const Bytes after = download(*queue_, memory[i]->address(), before[i].size());
      expect_only_the_part_written(operand, before[i], after);
      if (done && !after.empty()) std::memcpy(operand.address, after.data(), after.size());
    }
    return done;
  }

  /// Runs the call, or skips the test if the device does not have the routine.
  bool run(LapackCall& call) {
    const auto done = execute(call);
    if (!done && done.error().kind == ErrorKind::unsupported) {
      unsupported_ = done.error().message;
      return false;
    }
    EXPECT_OK(done);
    if (done && call.has(Argument::info)) {
      EXPECT_EQ(call.integer(Argument::info), 0);
    }
    return done.has_value();
  }

  /// Runs a call that fails and says why, or skips the test if the device does not have the routine.
  void expect_failure(LapackCall& call, const char* why = "") {
    const auto done = execute(call);
    ASSERT_FALSE(done) << why;
    if (done.error().kind == ErrorKind::unsupported) {
      unsupported_ = done.error().message;
      return;
    }
    EXPECT_EQ(done.error().kind, ErrorKind::failed) << done.error().message;
    EXPECT_THAT(done.error().message, testing::HasSubstr(why));
  }

  /// Runs the test with a library whose singular values are perturbed.
  template <class Test>
  void with_perturbed_values(const Test& test) {
    if (device_->properties().name != "fake GPU") GTEST_SKIP() << "only the fake cuSOLVER perturbs on demand";
    setenv("FAKE_SOLVER_PERTURBED", "1", 1);
    test();
    unsetenv("FAKE_SOLVER_PERTURBED");
  }

  void TearDown() override {
    if (!unsupported_.empty()) GTEST_SKIP() << unsupported_;
  }

  static std::vector<Bytes> contents(const operation::Operation& operation) {
    std::vector<Bytes> result;
    for (const auto& vector : operation.vectors()) {
      const auto* const first = static_cast<const unsigned char*>(vector.address);
      result.emplace_back(first, first + vector.bytes);
    }
    return result;
  }

  static void expect_only_the_part_written(const operation::Operand& operand, const Bytes& before, const Bytes& after) {
    for (std::size_t byte = 0; byte < before.size(); ++byte) {
      const auto element = static_cast<std::int64_t>(byte / operand.element_size);
      const std::int64_t row = element % operand.leading_dimension;
      const std::int64_t column = element / operand.leading_dimension;
      const bool in_part = operand.part == Part::full || (operand.part == Part::upper ? row <= column : row >= column);
      const bool may_change = operation::writes(operand.intent) && row < operand.rows && in_part;
      if (!may_change) {
        ASSERT_EQ(before[byte], after[byte]) << "row " << row << ", column " << column;
      }
    }
  }

  Matrix random(std::int64_t rows, std::int64_t columns, bool complex) {
    std::uniform_real_distribution<double> values(-1, 1);
    Matrix result(rows, columns);
    for (Complex& element : result.elements) {
      // The numbers are exact in single precision.
      const double real = static_cast<float>(values(generator_));
      element = {real, complex ? static_cast<float>(values(generator_)) : 0};
    }
    return result;
  }
  /// A matrix with a triangle of a Hermitian matrix with eigenvalues around `shift`. The other triangle differs.
  Matrix hermitian(std::int64_t order, bool complex, double shift) {
    Matrix result = random(order, order, complex);
    for (std::int64_t i = 0; i < order; ++i) result(i, i) = static_cast<float>(result(i, i).real() + shift);
    return result;
  }

  /// A matrix whose triangles are well conditioned, both with their own diagonal and with a unit diagonal.
  Matrix near_identity(bool complex) {
    Matrix result = hermitian(n, complex, 10);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        if (i != j) result(i, j) *= 0.0625;
    return result;
  }

  static constexpr blas::Scalar scalars[] = {blas::Scalar::s, blas::Scalar::d, blas::Scalar::c, blas::Scalar::z};

  /// Calls test(scalar, call, complex, tolerance) for every type. The width of integers alternates between types.
  template <class Test>
  void each_type(Kind kind, Test&& test) {
    for (const blas::Scalar scalar : scalars) {
      SCOPED_TRACE(lapack::row(find_routine(kind, scalar)).name);
      LapackCall call(find_routine(kind, scalar), scalar == blas::Scalar::d ? 8 : 4);
      test(scalar, call, blas::is_complex(scalar), 3000 * blas::machine_epsilon(scalar));
    }
  }
  template <class Test>
  void each_triangle(Kind kind, Test&& test) {
    for (const bool upper : {true, false}) {
      SCOPED_TRACE(upper ? "upper" : "lower");
      each_type(kind, [&](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
        call.set(Argument::uplo, upper ? 'U' : 'L');
        test(call, upper, complex, tolerance);
      });
    }
  }

  static Matrix product_of_factor(const Matrix& factor, bool upper) {
    const Matrix part = triangle_of(factor, upper);
    return upper ? adjoint(part) * part : part * adjoint(part);
  }

  /// For least squares: `x` solves them, and the elements below it in the result tell the norm of the residual.
  static void expect_smallest_residual(const Matrix& a, const Matrix& b, const Matrix& x, LapackCall& call,
                                       double tolerance) {
    Matrix residual = a * x;
    for (std::size_t i = 0; i < residual.elements.size(); ++i) residual.elements[i] -= b.elements[i];
    EXPECT_LT(difference(adjoint(a) * residual, Matrix(a.columns, b.columns)), 100 * tolerance);
    const Matrix result = call.matrix(Argument::b, std::max(a.rows, a.columns), b.columns);
    for (std::int64_t j = 0; j < b.columns && a.rows >= a.columns; ++j) {
      double below = 0;
      double expected = 0;
      for (std::int64_t i = 0; i < a.rows; ++i) expected += std::norm(residual(i, j));
      for (std::int64_t i = a.columns; i < a.rows; ++i) below += std::norm(result(i, j));
      EXPECT_NEAR(std::sqrt(below), std::sqrt(expected), tolerance);
    }
  }

  /// Tests every form of gesdd and gesvd.
  void try_singular_values() {
    for (const Kind kind : {Kind::gesdd, Kind::gesvd})
      for (const auto& [rows, columns] : {std::pair{n, n}, std::pair{tall, n}, std::pair{n, tall}})
        for (const char job : {'S', 'A', 'N'})
          for (const char job_right : {'S', 'A', 'N'})
            if (kind == Kind::gesvd || job == job_right) try_singular_values(kind, rows, columns, job, job_right);
  }

  void try_singular_values(Kind kind, std::int64_t m, std::int64_t k, char job, char job_right) {
    SCOPED_TRACE(testing::Message() << job << ' ' << job_right << ' ' << m << " x " << k);
    each_type(kind, [&](blas::Scalar, LapackCall& call, bool complex, double tolerance) {
      const Matrix a = random(m, k, complex);
      const std::int64_t low = std::min(m, k);
      call.set(Argument::job, job);
      if (kind == Kind::gesvd) call.set(Argument::job_right, job_right);
      call.set(Argument::m, m);
      call.set(Argument::n, k);
      call.set(Argument::a, Argument::lda, a);
      call.set(Argument::z, Argument::ldz, Matrix(m, m));
      call.set(Argument::right, Argument::ld_right, Matrix(k, k));
      if (!run(call)) return;
      const std::vector<Complex> values = call.reals(Argument::w, low);
      EXPECT_TRUE(std::is_sorted(values.begin(), values.end(),
                                 [](Complex left, Complex right) { return left.real() > right.real(); }));
      const Matrix u = call.matrix(Argument::z, m, job == 'N' ? 0 : job == 'A' ? m : low);
      const Matrix v = adjoint(call.matrix(Argument::right, job_right == 'N' ? 0 : job_right == 'A' ? k : low, k));
      EXPECT_LT(difference(adjoint(u) * u, identity(u.columns)), tolerance);
      EXPECT_LT(difference(adjoint(v) * v, identity(v.columns)), tolerance);
      const auto first = [low](const Matrix& vectors) { return columns_of(vectors, 0, low); };
      if (job != 'N' && job_right != 'N') {
        EXPECT_LT(difference(scale_columns(first(u), values) * adjoint(first(v)), a), 10 * tolerance);
      } else if (job != 'N') {
        const Matrix twice = scale_columns(scale_columns(first(u), values), values);
        EXPECT_LT(difference(a * (adjoint(a) * first(u)), twice), 100 * tolerance);
      } else if (job_right != 'N') {
        const Matrix twice = scale_columns(scale_columns(first(v), values), values);
        EXPECT_LT(difference(adjoint(a) * (a * first(v)), twice), 100 * tolerance);
      }
    });
  }

  std::mt19937 generator_{20240607};
  std::unique_ptr<device::Queue> queue_;
  std::string unsupported_;
  reference::ReferenceRoutine host_;
};

}  // namespace blastoff::test
