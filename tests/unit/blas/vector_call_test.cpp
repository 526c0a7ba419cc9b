// Calls of level 1 and their parts: which elements lie where, and whether parts make the whole.
#include "blas/vector_call.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "reference_vectors.h"

namespace blastoff::blas {
namespace {

using platform::Span;

VectorCall call_of(VectorRoutine routine, std::int64_t n, double* x, std::int64_t incx, double* y = nullptr,
                   std::int64_t incy = 1) {
  VectorCall call{.routine = routine, .n = n};
  call.x_and_y = {{{x, incx}, {y, incy}}};
  call.alpha[0] = 3;
  return call;
}

TEST(VectorCall, PartsOfACallMakeTheWhole) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 400; ++round) {
    const auto routine = std::vector{VectorRoutine::dswap, VectorRoutine::dcopy, VectorRoutine::dscal,
                                     VectorRoutine::daxpy}[random() % 4];
    const std::int64_t n = 1 + below(40);
    std::int64_t incx = 1 + below(5);
    std::int64_t incy = 1 + below(5);
    if (below(2) == 0 && routine != VectorRoutine::dscal) incx = -incx;
    if (below(2) == 0) incy = -incy;
    std::vector<double> whole(400);
    for (double& each : whole) each = static_cast<double>(random() % 1000);
    std::vector<double> parts = whole;
    const VectorCall call = call_of(routine, n, whole.data(), incx, whole.data() + 200, incy);
    ASSERT_TRUE(is_elementwise(call));
    reference::compute(call);
    const VectorCall same = call_of(routine, n, parts.data(), incx, parts.data() + 200, incy);
    const std::int64_t cut = below(n + 1);
    if (cut < n) reference::compute(part_of(same, cut, n));
    if (cut > 0) reference::compute(part_of(same, 0, cut));
    ASSERT_EQ(whole, parts) << row(routine).name << " n=" << n << " incx=" << incx << " incy=" << incy;
  }
}

TEST(VectorCall, ElementsAreFoundWhereTheyLie) {
  std::mt19937 random(8);
  std::vector<double> memory(4000);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  for (int round = 0; round < 400; ++round) {
    const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 60);
    const std::int64_t incx = (random() % 2 == 0 ? 1 : -1) * (1 + static_cast<std::int64_t>(random() % 30));
    const std::int64_t incy = (random() % 2 == 0 ? 1 : -1) * (1 + static_cast<std::int64_t>(random() % 30));
    const VectorCall call = call_of(VectorRoutine::dswap, n, memory.data(), incx, memory.data() + 2000, incy);
    std::vector<Span> ranges;
    for (std::uintptr_t at = begin + random() % 500; at < begin + memory.size() * sizeof(double);) {
      const std::uintptr_t bytes = 1 + random() % 9000;
      ranges.push_back({at, at + bytes});
      at += bytes + random() % 3000;
    }
    const std::vector<Elements> found = elements_within(call, ranges, 1000);
    for (std::int64_t i = 0; i < n; ++i) {
      bool within = true;
      for (const Vector& vector : call.vectors()) {
        const std::int64_t place = vector.increment > 0 ? i * vector.increment : (i + 1 - n) * vector.increment;
        const auto at = reinterpret_cast<std::uintptr_t>(vector.address) + static_cast<std::uintptr_t>(place) * 8;
        within = within && std::ranges::any_of(ranges, [&](Span range) { return range.contains({at, at + 8}); });
      }
      const bool listed = std::ranges::any_of(found, [&](Elements run) { return run.first <= i && i < run.last; });
      ASSERT_EQ(within, listed) << "element " << i << " of " << n << " incx=" << incx << " incy=" << incy;
    }
    const std::vector<Elements> longest = elements_within(call, ranges, 2);
    EXPECT_LE(longest.size(), 2U);
    EXPECT_TRUE(std::ranges::is_sorted(longest, {}, &Elements::first));
  }
}

TEST(VectorCall, OnlyIndependentElementsMakeACallThatCanBeCut) {
  std::vector<double> memory(1000);
  double* const x = memory.data();
  EXPECT_TRUE(is_elementwise(call_of(VectorRoutine::dswap, 10, x, 100, x + 7, 100))) << "two rows of a matrix";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dswap, 9, x, 100, x + 100, 100))) << "a row and itself, shifted";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dcopy, 10, x, 1, x, 1))) << "a vector and itself";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dcopy, 10, x, 1, x + 5, 1))) << "overlapping vectors";
  EXPECT_TRUE(is_elementwise(call_of(VectorRoutine::dcopy, 10, x, 1, x + 10, 1))) << "neighbours";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dcopy, 10, x, 3, x + 1, 2))) << "different strides";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::daxpy, 10, x, 0, x + 500, 1))) << "one number, again and again";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dscal, 0, x, 1))) << "nothing";
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dscal, -3, x, 1)));
  EXPECT_TRUE(is_elementwise(call_of(VectorRoutine::dscal, 10, x, 7)));
  EXPECT_FALSE(is_elementwise(call_of(VectorRoutine::dscal, 10, x, -7))) << "does nothing";
}

TEST(VectorCall, ZerosAndInfinitiesAreLeftToTheLibrary) {
  VectorCall call{.routine = VectorRoutine::zscal, .n = 1};
  const auto with = [&](double real, double imaginary) {
    call.alpha = {real, imaginary};
    return is_unambiguous(call);
  };
  EXPECT_TRUE(with(0, 1));
  EXPECT_FALSE(with(0, 0));
  EXPECT_FALSE(with(1, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(with(std::numeric_limits<double>::quiet_NaN(), 0));
  call.routine = VectorRoutine::zswap;
  EXPECT_TRUE(is_unambiguous(call));
}

TEST(VectorCall, AComparisonFindsOneWrongNumber) {
  std::vector<double> x{1, 2, 3};
  std::vector<double> y{4, std::numeric_limits<double>::quiet_NaN(), 6};
  const auto bytes = [](const std::vector<double>& numbers) {
    const auto* const first = reinterpret_cast<const std::byte*>(numbers.data());
    return VectorElements(first, first + numbers.size() * sizeof(double));
  };
  const VectorCall call = call_of(VectorRoutine::daxpy, 3, x.data(), 1, y.data(), 1);
  const std::vector<VectorElements> before{bytes(x), bytes(y)};
  reference::compute(call);
  const VectorElements expected = bytes(y);
  const auto same = compare(call, 1, before, expected, expected);
  EXPECT_LE(same.relative_error, same.bound);
  y[2] = std::nextafter(y[2], 100);
  const auto rounded = compare(call, 1, before, expected, bytes(y));
  EXPECT_GT(rounded.relative_error, 0);
  EXPECT_LE(rounded.relative_error, rounded.bound);
  y[2] += 1e-12;
  const auto wrong = compare(call, 1, before, expected, bytes(y));
  EXPECT_GT(wrong.relative_error, wrong.bound);
  EXPECT_EQ(wrong.column, 2);
  const VectorCall moved = call_of(VectorRoutine::dcopy, 3, x.data(), 1, y.data(), 1);
  EXPECT_GT(compare(moved, 1, before, before[0], before[1]).relative_error, 0) << "a copy must be equal";
}

}  // namespace
}  // namespace blastoff::blas
