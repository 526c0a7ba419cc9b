// --verify=sample for products of a matrix and a vector. The results are so short that each check covers a whole one.
#include "blas/element_check.h"

#include <gtest/gtest.h>

#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Call;
using operation::Comparison;

template <class Visit>
void each_call(Visit&& visit) {
  for (std::size_t i = 0; i < blas::routine_count; ++i) {
    const auto routine = static_cast<blas::Routine>(i);
    if (!blas::is_matrix_vector(row(routine).kind)) continue;
    for (const test::Options& options : test::all_options(routine)) {
      for (const blas::Coefficient beta : {blas::Coefficient(0), blas::Coefficient(-0.5, 0.25)}) {
        for (const bool reversed : {false, true}) {
          const test::TestCall made(routine, options, 7, 6, 0, {0.75, -0.5}, beta);
          auto memory = made.result();
          Call call = made.with_result(memory);
          call.reversed_x = reversed;
          call.reversed_y = !reversed;
          SCOPED_TRACE(test::describe(call));
          visit(call);
        }
      }
    }
  }
}

void double_it(const operation::Operand& matrix, blas::Scalar scalar, std::int64_t i, std::int64_t j) {
  char* const at = static_cast<char*>(matrix.address) + static_cast<std::size_t>(j) * matrix.stride_bytes() +
                   static_cast<std::size_t>(i) * matrix.element_size;
  test::detail::with_scalar(scalar, [&]<class T>() {
    T value;
    std::memcpy(&value, at, sizeof value);
    value += value;
    std::memcpy(at, &value, sizeof value);
  });
}

TEST(ElementCheck, PassesRightResultsAndFindsAWrongElement) {
  each_call([](const Call& call) {
    const auto check = blas::check_elements(call);
    reference::compute(call);
    const Comparison right = check->compare();
    EXPECT_TRUE(right.checked);
    EXPECT_LT(right.relative_error, right.bound);
    double_it(call.result(), call.scalar(), 0, 3);
    const Comparison wrong = check->compare();
    EXPECT_GT(wrong.relative_error, wrong.bound);
  });
}

TEST(ElementCheck, FindsAStaleMatrix) {
  each_call([](const Call& call) {
    const operation::Operand& a = call.operands()[0];
    const std::int64_t i = a.part == operation::Part::upper ? 2 : 4;
    const std::int64_t j = a.part == operation::Part::upper ? 4 : 2;
    const auto check = blas::check_elements(call);
    reference::compute(call);
    // The device did not have the value that the CPU has written.
    double_it(a, call.scalar(), i, j);
    const Comparison comparison = check->compare();
    EXPECT_GT(comparison.relative_error, comparison.bound);
  });
}

}  // namespace
}  // namespace blastoff
