// --verify=sample: for every routine, correct results pass, and wrong elements and stale operands are found.
#include "blas/product_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "blas_front_end.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff::test {
namespace {

using blas::Call;
using blas::Kind;
using operation::Comparison;

constexpr std::int64_t m = 23;
constexpr std::int64_t n = 19;
constexpr std::int64_t k = 31;

/// Calls visit(call) for every routine that can be checked and every option, with and without beta.
template <class Visit>
void each_call(Visit&& visit) {
  for (std::size_t i = 0; i < blas::routine_count; ++i) {
    const auto routine = static_cast<blas::Routine>(i);
    if (!blas::has_product_check(row(routine).kind)) continue;
    for (const Options& options : all_options(routine)) {
      for (const blas::Coefficient beta : {blas::Coefficient(0), blas::Coefficient(-0.5, 0.25)}) {
        const TestCall made(routine, options, m, n, k, {0.75, -0.5}, beta);
        std::vector<std::byte> result = made.result();
        visit(made.with_result(result));
      }
    }
  }
}

void scale(const operation::Operand& matrix, blas::Scalar scalar, std::int64_t i, std::int64_t j, double factor) {
  char* const at = static_cast<char*>(matrix.address) + static_cast<std::size_t>(j) * matrix.stride_bytes() +
                   static_cast<std::size_t>(i) * matrix.element_size;
  detail::with_scalar(scalar, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof value);
    value *= static_cast<decltype(std::real(T()))>(factor);
    std::memcpy(at, &value, sizeof value);
  });
}

/// An element of the operand's part, below or above the diagonal as the part requires.
std::pair<std::int64_t, std::int64_t> element_of(const operation::Operand& matrix) {
  return matrix.part == operation::Part::upper ? std::pair{std::int64_t{3}, std::int64_t{11}}
                                               : std::pair{std::int64_t{11}, std::int64_t{3}};
}

TEST(ProductCheck, PassesRightResults) {
  each_call([](const Call& call) {
    const auto check = blas::check_by_products(call);
    reference::compute(call);
    const Comparison comparison = check->compare();
    EXPECT_TRUE(comparison.checked) << describe(call);
    EXPECT_LT(comparison.relative_error, comparison.bound) << describe(call);
  });
}

TEST(ProductCheck, FindsOneWrongElement) {
  each_call([](const Call& call) {
    const auto check = blas::check_by_products(call);
    reference::compute(call);
    const auto [i, j] = element_of(call.result());
    scale(call.result(), call.scalar(), i, j, 2);
    const Comparison comparison = check->compare();
    EXPECT_TRUE(comparison.checked) << describe(call);
    EXPECT_GT(comparison.relative_error, comparison.bound) << describe(call);
  });
}

TEST(ProductCheck, FindsAStaleOperand) {
  each_call([](const Call& call) {
    const operation::Operand& a = call.operands()[0];
    const auto [i, j] = element_of(a);
    scale(a, call.scalar(), i, j, 40);
    const auto check = blas::check_by_products(call);
    // The device has the old value of the element.
    scale(a, call.scalar(), i, j, 1 / 40.0);
    reference::compute(call);
    scale(a, call.scalar(), i, j, 40);
    const Comparison comparison = check->compare();
    EXPECT_TRUE(comparison.checked) << describe(call);
    EXPECT_GT(comparison.relative_error, comparison.bound) << describe(call);
  });
}

TEST(ProductCheck, FindsWhatIsNotANumber) {
  each_call([](const Call& call) {
    if (call.kind() == Kind::trsm) return;  // A may be singular, and then the CPU finds no result either
    const auto check = blas::check_by_products(call);
    reference::compute(call);
    const auto [i, j] = element_of(call.result());
    scale(call.result(), call.scalar(), i, j, std::nan(""));
    const Comparison comparison = check->compare();
    EXPECT_TRUE(comparison.checked) << describe(call);
    EXPECT_EQ(comparison.relative_error, HUGE_VAL) << describe(call);
  });
}

TEST(ProductCheck, SaysNothingOfInputThatIsNotFiniteOrExtreme) {
  for (const double factor : {static_cast<double>(INFINITY), std::nan(""), 1e200, 1e-200}) {
    each_call([&](const Call& call) {
      const operation::Operand& a = call.operands()[0];
      for (std::int64_t j = 0; j < a.columns; ++j)
        for (std::int64_t i = 0; i < a.rows; ++i) scale(a, call.scalar(), i, j, factor);
      const auto check = blas::check_by_products(call);
      reference::compute(call);
      const Comparison comparison = check->compare();
      EXPECT_FALSE(comparison.checked && comparison.relative_error > comparison.bound)
          << describe(call) << ", A times " << factor;
    });
  }
}

TEST(ProductCheck, AZeroResultBeforeDoesNotHinder) {
  const TestCall made(blas::Routine::dgemm, {}, m, n, k, 1, 1);
  std::vector<std::byte> result(made.result().size());
  const Call call = made.with_result(result);
  const auto check = blas::check_by_products(call);
  reference::compute(call);
  const Comparison comparison = check->compare();
  EXPECT_TRUE(comparison.checked);
  EXPECT_LT(comparison.relative_error, comparison.bound);
}

TEST(ProductCheck, LargeMatricesAreReadByManyThreads) {
  constexpr std::int64_t order = 1100;  // 10 MB each
  for (const blas::Transpose transpose : {blas::Transpose::none, blas::Transpose::transpose}) {
    Options options;
    options.transpose_a = transpose;
    const TestCall made(blas::Routine::dsyrk, options, order, order, 40, 1, -0.5);
    std::vector<std::byte> result = made.result();
    const Call call = made.with_result(result);
    const auto check = blas::check_by_products(call);
    reference::compute(call);
    const Comparison right = check->compare();
    EXPECT_TRUE(right.checked);
    EXPECT_LT(right.relative_error, right.bound);
    scale(call.result(), call.scalar(), 10, order - 1, 3);
    const Comparison wrong = check->compare();
    EXPECT_GT(wrong.relative_error, wrong.bound);
    EXPECT_EQ(wrong.row == 10 || wrong.row == order - 1, true) << wrong.row;
  }
}

TEST(ProductCheck, EachCheckHasAnotherVector) {
  // An error that the first check's vector misses is found with another vector.
  const TestCall made(blas::Routine::dgemm, {}, m, n, k, 1, 0);
  std::vector<std::byte> result = made.result();
  const Call call = made.with_result(result);
  reference::compute(call);
  const auto [i, j] = element_of(call.result());
  scale(call.result(), call.scalar(), i, j, 2);
  const double first = blas::check_by_products(call)->compare().relative_error;
  const double second = blas::check_by_products(call)->compare().relative_error;
  EXPECT_GT(first, 0);
  EXPECT_NE(first, second);
}

}  // namespace
}  // namespace blastoff::test
