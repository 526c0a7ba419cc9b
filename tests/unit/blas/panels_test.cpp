// Panels: they are disjoint, cover the result exactly, and together give the call's result.
#include <gtest/gtest.h>

#include <map>

#include "blas/panels.h"
#include "every_routine.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using blas::Call;
using blas::Kind;

/// The number of writes of each element of the result, by its byte offset.
std::map<std::ptrdiff_t, int> writes(const Call& whole, const std::vector<Call>& parts) {
  std::map<std::ptrdiff_t, int> count;
  const char* base = static_cast<const char*>(whole.result().address);
  for (const Call& part : parts) {
    const operation::Operand& c = part.result();
    for (std::int64_t j = 0; j < c.columns; ++j) {
      for (std::int64_t i = 0; i < c.rows; ++i) {
        if (!test::detail::referenced(c, i, j)) continue;
        const auto offset = (i + j * c.leading_dimension) * static_cast<std::int64_t>(c.element_size);
        ++count[static_cast<const char*>(c.address) + offset - base];
      }
    }
  }
  return count;
}

struct Case {
  blas::Coefficient alpha;
  blas::Coefficient beta;
  std::size_t panel_elements;
};

class Panels : public testing::TestWithParam<blas::Routine> {
 protected:
  void check(const test::Options& options, const Case& values) {
    const test::TestCall made(GetParam(), options, 9, 7, 5, values.alpha, values.beta);
    const Call& call = made.call();
    SCOPED_TRACE(test::describe(call) + " panel elements " + std::to_string(values.panel_elements));
    auto whole = made.result();
    auto cut = made.result();
    reference::compute(made.with_result(whole));
    const Call target = made.with_result(cut);
    const std::vector<Call> parts = panels(target, values.panel_elements * blas::element_size(call.scalar()));
    ASSERT_FALSE(parts.empty());
    EXPECT_EQ(writes(target, parts), writes(target, {target}));
    for (const Call& part : parts) {
      EXPECT_TRUE(valid(part)) << test::describe(part);
      reference::compute(part);
    }
    EXPECT_LE(made.difference(cut, whole), test::rounding);
    EXPECT_EQ(parts.size() > 1, values.panel_elements < 1000 && !stays_whole());
  }

  Kind kind() const { return row(GetParam()).kind; }
  bool stays_whole() const { return kind() == Kind::syr2k || kind() == Kind::her2k || is_matrix_vector(kind()); }
};

TEST_P(Panels, CoverTheResultOnceAndComputeTheCall) {
  for (const test::Options& options : test::all_options(GetParam())) {
    for (const std::size_t elements : {1, 14, 20, 1000}) {
      check(options, {{0.7, -0.3}, {1.2, 0.4}, elements});
      check(options, {{0.7, -0.3}, {0, 0}, elements});
    }
  }
}

TEST_P(Panels, OfAnEmptyResultAreTheCallItself) {
  const test::TestCall made(GetParam(), {}, 0, 0, 3, 1, 1);
  EXPECT_EQ(panels(made.call(), 1).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Every, Panels, testing::ValuesIn(test::every_routine()), test::routine_name);

TEST(PanelSizes, AreAboutTheSizeAskedFor) {
  for (const Kind kind : {Kind::gemm, Kind::syrk}) {
    Call call;
    call.routine = blas::routine_of(kind, blas::Scalar::d);
    call.m = 5000;
    call.n = 5000;
    call.k = 10;
    std::vector<void*> addresses(3);
    std::vector<std::int64_t> leading_dimensions(3, 5000);
    const std::size_t count = kind == Kind::gemm ? 3 : 2;
    shape_operands(call, {addresses.data(), count}, {leading_dimensions.data(), count});
    const std::size_t wanted = 16 << 20;
    const std::vector<Call> parts = panels(call, wanted);
    const double total = kind == Kind::gemm ? 200e6 : 100e6;
    EXPECT_GE(static_cast<double>(parts.size()), total / static_cast<double>(wanted));
    for (const Call& part : parts) EXPECT_LE(part.result().payload_bytes(), 2 * wanted);
  }
}

}  // namespace
}  // namespace blastoff
