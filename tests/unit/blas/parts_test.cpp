// Parts for several devices: they are disjoint and independent, cover the result exactly, and together give the call's
// result.
#include "blas/parts.h"

#include <array>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "blas/shape.h"
#include "every_routine.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Call;
using blas::Kind;
using Parts = std::vector<std::vector<Call>>;

/// The addresses of an operand's elements.
std::set<const char*> elements(const operation::Operand& operand) {
  std::set<const char*> result;
  for (std::int64_t j = 0; j < operand.columns; ++j)
    for (std::int64_t i = 0; i < operand.rows; ++i)
      if (test::detail::referenced(operand, i, j))
        result.insert(static_cast<const char*>(operand.address) +
                      (i + j * operand.leading_dimension) * static_cast<std::int64_t>(operand.element_size));
  return result;
}

std::set<const char*> written(const std::vector<Call>& part) {
  std::set<const char*> result;
  for (const Call& call : part) result.merge(elements(call.result()));
  return result;
}

class PartsOf : public testing::TestWithParam<blas::Routine> {
 protected:
  Kind kind() const { return row(GetParam()).kind; }

  void check(const test::Options& options, blas::Coefficient beta, int count) {
    const test::TestCall made(GetParam(), options, 19, 23, 11, {0.7, -0.3}, beta);
    SCOPED_TRACE(test::describe(made.call()) + " parts " + std::to_string(count));
    auto whole = made.result();
    auto cut = made.result();
    reference::compute(made.with_result(whole));
    const Call target = made.with_result(cut);
    const Parts parts = blas::parts(target, count);
    if (is_matrix_vector(kind())) {
      EXPECT_TRUE(parts.empty());
      return;
    }
    ASSERT_GT(parts.size(), 1U);
    ASSERT_LE(parts.size(), static_cast<std::size_t>(count));
    check_results(target, parts);
    // In reverse order, as no part needs another.
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      for (const Call& call : *part) {
        EXPECT_TRUE(valid(call)) << test::describe(call);
        EXPECT_FALSE(trivial(call)) << test::describe(call);
        reference::compute(call);
      }
    }
    EXPECT_LE(made.difference(cut, whole), test::rounding);
  }

  static void check_results(const Call& target, const Parts& parts) {
    std::set<const char*> all;
    std::size_t count = 0;
    for (const std::vector<Call>& part : parts) {
      std::set<const char*> own = written(part);
      EXPECT_FALSE(own.empty());
      count += own.size();
      all.merge(own);
    }
    EXPECT_EQ(count, all.size()) << "two parts write one element";
    EXPECT_EQ(all, elements(target.result()));
  }
};

TEST_P(PartsOf, TheCallCoverTheResultOnceAndComputeIt) {
  for (const test::Options& options : test::all_options(GetParam())) {
    for (const int count : {2, 3, 4, 6}) {
      check(options, {1.2, 0.4}, count);
      check(options, {0, 0}, count);
    }
  }
}

TEST_P(PartsOf, WhatCannotBeCutAreNone) {
  EXPECT_TRUE(blas::parts(test::TestCall(GetParam(), {}, 0, 0, 3, 1, 1).call(), 4).empty());
  EXPECT_TRUE(blas::parts(test::TestCall(GetParam(), {}, 1, 1, 3, 1, 1).call(), 4).empty());
  EXPECT_TRUE(blas::parts(test::TestCall(GetParam(), {}, 9, 9, 3, 1, 1).call(), 1).empty());
}

INSTANTIATE_TEST_SUITE_P(Every, PartsOf, testing::ValuesIn(test::every_routine()), test::routine_name);

/// A call that is never computed.
Call shaped(Kind kind, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t leading_dimension = 16000,
            std::uintptr_t result = 0x10000000) {
  Call call;
  call.routine = blas::routine_of(kind, blas::Scalar::d);
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = call.beta = 1;
  std::array<void*, 3> addresses{};
  std::array<std::int64_t, 3> leading_dimensions{};
  leading_dimensions.fill(leading_dimension);
  const auto count = static_cast<std::size_t>(blas::operand_count(kind));
  addresses[count - 1] = reinterpret_cast<void*>(result);
  shape_operands(call, {addresses.data(), count}, {leading_dimensions.data(), count});
  return call;
}

TEST(PartsOfLargeCalls, HaveAboutTheSameWork) {
  for (const Kind kind : {Kind::gemm, Kind::gemmt, Kind::symm, Kind::syrk, Kind::syr2k, Kind::trmm, Kind::trsm}) {
    for (const blas::Uplo uplo : {blas::Uplo::upper, blas::Uplo::lower}) {
      for (int count = 2; count <= 8; ++count) {
        Call call = shaped(kind, 16000, 16000, 16000);
        call.uplo = uplo;
        const Parts parts = blas::parts(call, count);
        ASSERT_EQ(parts.size(), static_cast<std::size_t>(count));
        for (const std::vector<Call>& part : parts) {
          double work = 0;
          for (const Call& each : part) work += flops(each);
          EXPECT_NEAR(work, flops(call) / count, 0.06 * flops(call) / count);
        }
      }
    }
  }
}

/// The number of different rows and of different columns of the result at which parts begin.
std::pair<std::size_t, std::size_t> grid(const Parts& parts) {
  std::map<std::int64_t, int> rows;
  std::map<std::int64_t, int> columns;
  for (const std::vector<Call>& part : parts) {
    const auto offset = static_cast<const char*>(part.front().result().address) -
                        static_cast<const char*>(parts.front().front().result().address);
    const std::int64_t element = offset / 8;
    ++rows[element % part.front().result().leading_dimension];
    ++columns[element / part.front().result().leading_dimension];
  }
  return {rows.size(), columns.size()};
}

TEST(PartsOfProducts, ReadAsLittleAsTheyCan) {
  using Grid = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(grid(blas::parts(shaped(Kind::gemm, 16000, 16000, 16000), 2)), Grid(1, 2));
  EXPECT_EQ(grid(blas::parts(shaped(Kind::gemm, 16000, 16000, 16000), 4)), Grid(1, 4));
  EXPECT_EQ(grid(blas::parts(shaped(Kind::gemm, 16000, 16000, 16000), 8)), Grid(2, 4));
  EXPECT_EQ(grid(blas::parts(shaped(Kind::gemm, 16000, 2000, 16000), 2)), Grid(2, 1));
  EXPECT_EQ(grid(blas::parts(shaped(Kind::gemm, 2000, 16000, 16000), 8)), Grid(1, 8));
  EXPECT_EQ(grid(blas::parts(shaped(Kind::gemm, 16000, 1, 16000), 2)), Grid(2, 1));
}

TEST(PartsOfProducts, BeginOnPagesOfTheirOwnWhereThatIsNear) {
  const auto second_begins = [](const Call& call) {
    return reinterpret_cast<std::uintptr_t>(blas::parts(call, 2).at(1).front().result().address);
  };
  // First every fourth column begins a page, then every column, then none.
  EXPECT_EQ(second_begins(shaped(Kind::gemm, 8000, 8002, 8000, 15872 + 128)) % 4096, 0U);
  EXPECT_EQ(second_begins(shaped(Kind::gemm, 8000, 8001, 8000, 8192)) % 4096, 0U);
  EXPECT_EQ(second_begins(shaped(Kind::gemm, 8000, 8000, 8000, 8192, 0x10000010)) % 4096, 16U);
  // Cut by rows, if all columns begin at the same offset in a page.
  EXPECT_EQ(second_begins(shaped(Kind::gemm, 16000, 2000, 16000, 16384, 0x10000010)) % 4096, 0U);
}

/// Only shapes and addresses count, so that matrices stay on their devices.
TEST(PartsOfProducts, DoNotDependOnCoefficients) {
  Call call = shaped(Kind::gemm, 5000, 4000, 3000);
  const Parts first = blas::parts(call, 3);
  call.alpha = 2;
  call.beta = 0.5;
  const Parts second = blas::parts(call, 3);
  ASSERT_EQ(first.size(), 3U);
  ASSERT_EQ(second.size(), 3U);
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t operand = 0; operand < 3; ++operand)
      EXPECT_EQ(first[i].front().operands()[operand].address, second[i].front().operands()[operand].address);
}

}  // namespace
}  // namespace blastoff
