// A call of trsm_batch becomes calls of its groups, whose originals compute the same together.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "intercept/blas/enter.h"
#include "intercept/blas/enter_groups.h"
#include "recording_dispatch.h"
#include "reference_blas.h"

namespace blastoff::intercept {
namespace {

using test::dispatched;

/// The number of groups of each call of an original.
std::vector<std::int64_t> groups_of_calls;

/// The arguments of a call, or a part of them.
template <class Integer, class Option>
struct Arguments {
  const Option *side, *uplo, *transpose, *diagonal;
  const Integer *m, *n;
  const double* alpha;
  double* const* a;
  const Integer* lda;
  double* const* b;
  const Integer* ldb;
  Integer groups;
  const Integer* sizes;
};

/// The original: solves one after the other.
template <class Integer, class Option>
void compute(Arguments<Integer, Option> of) {
  groups_of_calls.push_back(of.groups);
  for (Integer g = 0; g < of.groups; ++g)
    for (Integer each = 0; each < of.sizes[g]; ++each, ++of.a, ++of.b) {
      blas::Call call;
      call.routine = blas::Routine::dtrsm;
      EXPECT_TRUE(abi::parse_option(of.side[g], call.side) && abi::parse_option(of.uplo[g], call.uplo) &&
                  abi::parse_option(of.transpose[g], call.transpose_a) &&
                  abi::parse_option(of.diagonal[g], call.diagonal));
      call.m = of.m[g];
      call.n = of.n[g];
      call.alpha = of.alpha[g];
      blas::shape_operands(call, std::array<void*, 2>{*of.a, *of.b}, std::array<std::int64_t, 2>{of.lda[g], of.ldb[g]});
      reference::compute(call);
    }
}

template <class Integer>
void fortran_original(const char* side, const char* uplo, const char* transpose, const char* diagonal, const Integer* m,
                      const Integer* n, const double* alpha, double* const* a, const Integer* lda, double* const* b,
                      const Integer* ldb, const Integer* groups, const Integer* sizes, std::size_t, std::size_t,
                      std::size_t, std::size_t length) {
  EXPECT_EQ(length, 1U);
  compute<Integer, char>({side, uplo, transpose, diagonal, m, n, alpha, a, lda, b, ldb, *groups, sizes});
}

template <class Integer>
void cblas_original(int order, const int* side, const int* uplo, const int* transpose, const int* diagonal,
                    const Integer* m, const Integer* n, const double* alpha, double* const* a, const Integer* lda,
                    double* const* b, const Integer* ldb, Integer groups, const Integer* sizes) {
  EXPECT_EQ(order, 102);
  compute<Integer, int>({side, uplo, transpose, diagonal, m, n, alpha, a, lda, b, ldb, groups, sizes});
}

/// A call of dtrsm_batch with two small solves, a stack of 64 larger ones, and two small ones.
template <class Integer>
struct Solves {
  static constexpr Integer orders[] = {5, 65, 4};
  const std::vector<Integer> sizes{2, 64, 2};
  const std::vector<char> sides{'L', 'R', 'L'}, uplos{'U', 'L', 'U'}, transposes{'N', 'T', 'N'},
      diagonals{'N', 'N', 'U'};
  const std::vector<int> side_options{141, 142, 141}, uplo_options{121, 122, 121}, transpose_options{111, 112, 111},
      diagonal_options{131, 131, 132};
  const std::vector<Integer> n{3, 65, 6}, ldb{5, 65, 4};
  const std::vector<double> alpha{1, 0.5, 2};
  std::vector<double> triangles = std::vector<double>(64 * 65 * 65 + 1000), solutions = triangles;
  std::vector<double*> a, b;

  Solves() {
    for (std::size_t i = 0; i < triangles.size(); ++i) {
      triangles[i] = static_cast<double>(i % 17) / 1000;
      solutions[i] = static_cast<double>(i % 13) - 6;
    }
    double* triangle = triangles.data();
    double* solution = solutions.data();
    for (std::size_t g = 0; g < sizes.size(); ++g)
      for (Integer each = 0; each < sizes[g]; ++each) {
        const std::int64_t order = orders[g];
        a.push_back(triangle);
        b.push_back(solution);
        for (std::int64_t i = 0; i < order; ++i) triangle[i * (order + 1)] = 2;
        triangle += order * order;
        solution += order * n[g];
      }
  }

  template <abi::Style style>
  void call(bool intercepted_call) {
    constexpr auto scalar = blas::Scalar::d;
    const bool fortran = style == abi::Style::fortran;
    const EntryPoint entry{fortran ? "dtrsm_batch_" : "cblas_dtrsm_batch",
                           "",
                           fortran ? "_" : "",
                           blas_routine(blas::Routine::dtrsm_batch),
                           {style, abi::IntegerWidth::lp64},
                           false};
    Original original{};
    original.function = fortran ? reinterpret_cast<void*>(&fortran_original<Integer>)
                                : reinterpret_cast<void*>(&cblas_original<Integer>);
    const auto groups = static_cast<Integer>(sizes.size());
    const auto enter = [&]<class... Values>(Values... values) {
      const PassedOn<Values...> passed_on{{values...}, nullptr};
      if (!intercepted_call) return PassedOn<Values...>::invoke(&passed_on, original.function);
      const RawArguments raw{&PassedOn<Values...>::invoke, &passed_on};
      const InterceptedCall intercepted{entry,     original, raw, blas::front_end(), entry.routine.number,
                                        blas_host, nullptr};
      enter_groups<style, blas::Kind::trsm_batch, scalar, Integer>(intercepted, passed_on);
    };
    const auto at = [](const auto& array) { return static_cast<const void*>(array.data()); };
    const void* const m = orders;
    if constexpr (style == abi::Style::fortran)
      enter(at(sides), at(uplos), at(transposes), at(diagonals), m, at(n), at(alpha), at(a), m, at(b), at(ldb),
            static_cast<const void*>(&groups), at(sizes), std::size_t{1}, std::size_t{1}, std::size_t{1},
            std::size_t{1});
    else
      enter(102, at(side_options), at(uplo_options), at(transpose_options), at(diagonal_options), m, at(n), at(alpha),
            at(a), m, at(b), at(ldb), static_cast<std::int64_t>(groups), at(sizes));
  }
};

template <class Integer>
class SolveGroups : public testing::Test {};
using Widths = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(SolveGroups, Widths);

template <abi::Style style, class Integer>
void expect_stack_alone() {
  dispatched = {};
  Solves<Integer> whole;
  Solves<Integer> cut;
  whole.template call<style>(false);
  groups_of_calls.clear();
  cut.template call<style>(true);
  EXPECT_EQ(groups_of_calls, (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(dispatched.supported, 3);
  EXPECT_EQ(cut.solutions, whole.solutions);
}

TYPED_TEST(SolveGroups, ALargeStackIsACallOfItsOwn) {
  expect_stack_alone<abi::Style::fortran, TypeParam>();
  expect_stack_alone<abi::Style::cblas, TypeParam>();
}

}  // namespace
}  // namespace blastoff::intercept
