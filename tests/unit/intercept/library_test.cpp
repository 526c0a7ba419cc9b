// Calling a library's functions to find the sizes of its numbers.
#include "intercept/evidence/library.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>

namespace blastoff::intercept {
namespace {

using abi::IntegerWidth;
using blas::Scalar;
using Kind = Witness::Kind;

int questions = 0;

/// ?amax of a library with these types of numbers. `parts`: two for complex numbers.
template <class Integer, class Real, int parts>
int largest(const Integer* n, const Real* x, const Integer* step) {
  ++questions;
  errno = ERANGE;
  Integer found = 0;
  for (Integer i = 1; i < *n; ++i)
    if (std::abs(x[parts * i * *step]) > std::abs(x[parts * found * *step])) found = i;
  return *n > 0 ? static_cast<int>(found) + 1 : 0;
}

template <class Integer, class Real>
std::size_t largest_c(Integer n, const Real* x, Integer step) {
  const int found = largest<Integer, Real, 1>(&n, x, &step);
  return found == 0 ? 0 : static_cast<std::size_t>(found - 1);
}

/// ?potrf for a matrix of one element.
template <class Integer, class Real, int parts>
void cholesky(const char*, const Integer* n, Real* a, const Integer*, Integer* info) {
  *info = *n == 1 && a[0] > 0 ? 0 : 1;
  if (*info != 0) return;
  a[0] = std::sqrt(a[0]);
  if (parts == 2) a[1] = 0;
}

template <class Function>
Library library_with(Kind kind, Scalar scalar, Function* function, bool changes = false) {
  Witnesses witnesses{};
  witnesses[static_cast<std::size_t>(scalar)] = {kind, reinterpret_cast<std::uintptr_t>(function)};
  return {witnesses, 0, changes};
}

template <class Integer>
void expect_by_largest(IntegerWidth width) {
  const auto expect = [&](Scalar scalar, auto* function) {
    EXPECT_EQ(library_with(Kind::largest, scalar, function).integers(scalar), width) << static_cast<int>(scalar);
  };
  expect(Scalar::s, &largest<Integer, float, 1>);
  expect(Scalar::d, &largest<Integer, double, 1>);
  expect(Scalar::c, &largest<Integer, float, 2>);
  expect(Scalar::z, &largest<Integer, double, 2>);
  EXPECT_EQ(library_with(Kind::largest_c, Scalar::d, &largest_c<Integer, double>).integers(Scalar::d), width);
}

template <class Integer>
void expect_by_cholesky(IntegerWidth width) {
  const auto expect = [&](Scalar scalar, auto* function) {
    EXPECT_EQ(library_with(Kind::cholesky, scalar, function).integers(scalar), width) << static_cast<int>(scalar);
  };
  expect(Scalar::s, &cholesky<Integer, float, 1>);
  expect(Scalar::d, &cholesky<Integer, double, 1>);
  expect(Scalar::c, &cholesky<Integer, float, 2>);
  expect(Scalar::z, &cholesky<Integer, double, 2>);
}

TEST(Library, TellsTheWidthOfItsIntegers) {
  expect_by_largest<std::int32_t>(IntegerWidth::lp64);
  expect_by_largest<std::int64_t>(IntegerWidth::ilp64);
  expect_by_cholesky<std::int32_t>(IntegerWidth::lp64);
  expect_by_cholesky<std::int64_t>(IntegerWidth::ilp64);
}

TEST(Library, WithWiderRealNumbersIsNotUnderstood) {
  using Integer = std::int32_t;
  const auto expect = [&](Kind kind, Scalar scalar, auto* function) {
    EXPECT_EQ(library_with(kind, scalar, function).integers(scalar), std::nullopt) << static_cast<int>(scalar);
  };
  expect(Kind::largest, Scalar::s, &largest<Integer, double, 1>);
  expect(Kind::largest, Scalar::c, &largest<Integer, double, 2>);
  expect(Kind::largest, Scalar::d, &largest<Integer, long double, 1>);
  expect(Kind::largest_c, Scalar::s, &largest_c<Integer, double>);
  expect(Kind::cholesky, Scalar::s, &cholesky<Integer, double, 1>);
  expect(Kind::cholesky, Scalar::c, &cholesky<Integer, double, 2>);
}

TEST(Library, IsAskedOnce) {
  const auto of = [](bool changes) {
    return library_with(Kind::largest, Scalar::d, &largest<std::int32_t, double, 1>, changes);
  };
  Library once = of(false);
  errno = 0;
  EXPECT_EQ(once.integers(Scalar::d), IntegerWidth::lp64);
  EXPECT_EQ(errno, 0) << "the program's own";
  const int first = questions;
  EXPECT_EQ(once.integers(Scalar::d), IntegerWidth::lp64);
  EXPECT_EQ(questions, first);
  Library changing = of(true);
  EXPECT_EQ(changing.integers(Scalar::d), IntegerWidth::lp64);
  const int before = questions;
  EXPECT_EQ(changing.integers(Scalar::d), IntegerWidth::lp64);
  EXPECT_GT(questions, before);
}

TEST(Library, OfWhichNothingIsKnownIsNotUnderstood) {
  Library silent({}, 0, false);
  EXPECT_EQ(silent.integers(Scalar::d), std::nullopt);
}

TEST(Library, TellsItsIntegersByAnotherType) {
  Witnesses witnesses{};
  witnesses[1] = {Kind::largest, reinterpret_cast<std::uintptr_t>(&largest<std::int64_t, double, 1>)};
  Library usual(witnesses, 1U << static_cast<int>(Scalar::s), false);
  EXPECT_EQ(usual.integers(Scalar::s), IntegerWidth::ilp64);
  EXPECT_EQ(usual.integers(Scalar::c), std::nullopt) << "its real numbers are not known";
}

}  // namespace
}  // namespace blastoff::intercept
