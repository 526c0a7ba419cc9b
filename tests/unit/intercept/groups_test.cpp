// A call of gemm_batch becomes calls of its groups, or of their products, whose originals compute the same together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "abi/arguments.h"
#include "intercept/blas/enter.h"
#include "intercept/blas/enter_groups.h"
#include "recording_dispatch.h"

namespace blastoff::intercept {
namespace {

using test::dispatched;

/// The groups of each call of an original.
std::vector<std::int64_t> groups_of_calls;

double element(const double* matrix, bool transposed, std::int64_t leading, std::int64_t i, std::int64_t j) {
  return transposed ? matrix[j + i * leading] : matrix[i + j * leading];
}

/// The original: computes in plain loops.
template <class Integer>
void compute(const bool* transposed, const Integer* m, const Integer* n, const Integer* k, const double* alpha,
             const double* const* a, const Integer* lda, const double* const* b, const Integer* ldb, const double* beta,
             double* const* c, const Integer* ldc, Integer groups, const Integer* sizes) {
  groups_of_calls.push_back(groups);
  std::int64_t product = 0;
  for (Integer g = 0; g < groups; ++g)
    for (Integer each = 0; each < sizes[g]; ++each, ++product)
      for (Integer j = 0; j < n[g]; ++j)
        for (Integer i = 0; i < m[g]; ++i) {
          double sum = 0;
          for (Integer l = 0; l < k[g]; ++l)
            sum += element(a[product], transposed[2 * g], lda[g], i, l) *
                   element(b[product], transposed[2 * g + 1], ldb[g], l, j);
          double& result = c[product][i + static_cast<std::int64_t>(j) * ldc[g]];
          result = alpha[g] * sum + beta[g] * result;
        }
}

template <class Integer>
void fortran_original(const char* transpose_a, const char* transpose_b, const Integer* m, const Integer* n,
                      const Integer* k, const double* alpha, const double* const* a, const Integer* lda,
                      const double* const* b, const Integer* ldb, const double* beta, double* const* c,
                      const Integer* ldc, const Integer* groups, const Integer* sizes, std::size_t length,
                      std::size_t other_length) {
  EXPECT_TRUE(length == 1 && other_length == 1);
  bool transposed[64] = {};
  for (Integer g = 0; g < *groups; ++g) {
    transposed[2 * g] = transpose_a[g] != 'N';
    transposed[2 * g + 1] = transpose_b[g] != 'N';
  }
  compute(transposed, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, *groups, sizes);
}

template <class Integer>
void cblas_original(int order, const int* transpose_a, const int* transpose_b, const Integer* m, const Integer* n,
                    const Integer* k, const double* alpha, const double* const* a, const Integer* lda,
                    const double* const* b, const Integer* ldb, const double* beta, double* const* c,
                    const Integer* ldc, Integer groups, const Integer* sizes) {
  EXPECT_EQ(order, 102);
  bool transposed[64] = {};
  for (Integer g = 0; g < groups; ++g) {
    transposed[2 * g] = transpose_a[g] != 111;
    transposed[2 * g + 1] = transpose_b[g] != 111;
  }
  compute(transposed, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, sizes);
}

/// A call of dgemm_batch: groups of products whose matrices are stacks or not.
template <class Integer>
struct Batch {
  std::vector<char> letters_a, letters_b;
  std::vector<int> options_a, options_b;
  std::vector<Integer> m, n, k, lda, ldb, ldc, sizes;
  std::vector<double> alpha, beta;
  std::vector<const double*> a, b;
  std::vector<double*> c;
  std::vector<double> factors = std::vector<double>(std::size_t{1} << 22);
  std::vector<double> results;
  std::size_t used = 0;

  Batch() : results(std::size_t{1} << 21) {
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = static_cast<double>(i % 17) - 8;
  }

  /// `step`: elements from one matrix of A to the next, for each product; B is the same for all.
  void add(Integer order, const std::vector<std::int64_t>& steps, bool transposed = false) {
    letters_a.push_back(transposed ? 'T' : 'N');
    letters_b.push_back('N');
    options_a.push_back(transposed ? 112 : 111);
    options_b.push_back(111);
    for (auto* sizes_of_group : {&m, &n, &k, &lda, &ldb, &ldc}) sizes_of_group->push_back(order);
    alpha.push_back(static_cast<double>(sizes.size()) + 1);
    beta.push_back(0.5);
    sizes.push_back(static_cast<Integer>(steps.size()));
    std::int64_t place = 0;
    for (const std::int64_t step : steps) {
      place += step;
      a.push_back(factors.data() + place);
      b.push_back(factors.data() + 3);
      c.push_back(results.data() + used);
      used += static_cast<std::size_t>(order) * static_cast<std::size_t>(order);
    }
  }

  template <abi::Style style>
  void call() {
    constexpr auto scalar = blas::Scalar::d;
    const bool fortran = style == abi::Style::fortran;
    const EntryPoint entry{fortran ? "dgemm_batch_" : "cblas_dgemm_batch",
                           "",
                           fortran ? "_" : "",
                           blas_routine(blas::Routine::dgemm_batch),
                           {style, abi::IntegerWidth::lp64},
                           false};
    Original original{};
    original.function = fortran ? reinterpret_cast<void*>(&fortran_original<Integer>)
                                : reinterpret_cast<void*>(&cblas_original<Integer>);
    const auto count = static_cast<Integer>(sizes.size());
    const auto enter = [&]<class... Values>(Values... values) {
      const PassedOn<Values...> passed_on{{values...}, nullptr};
      const RawArguments raw{&PassedOn<Values...>::invoke, &passed_on};
      const InterceptedCall intercepted{entry,     original, raw, blas::front_end(), entry.routine.number,
                                        blas_host, nullptr};
      enter_groups<style, blas::Kind::gemm_batch, scalar, Integer>(intercepted, passed_on);
    };
    const auto at = [](const auto& array) { return static_cast<const void*>(array.data()); };
    if constexpr (style == abi::Style::fortran)
      enter(at(letters_a), at(letters_b), at(m), at(n), at(k), at(alpha), at(a), at(lda), at(b), at(ldb), at(beta),
            at(c), at(ldc), static_cast<const void*>(&count), at(sizes), std::size_t{1}, std::size_t{1});
    else
      enter(102, at(options_a), at(options_b), at(m), at(n), at(k), at(alpha), at(a), at(lda), at(b), at(ldb), at(beta),
            at(c), at(ldc), static_cast<std::int64_t>(count), at(sizes));
  }
};

template <class Integer>
class GroupsOf : public testing::Test {
 protected:
  void SetUp() override {
    dispatched = {};
    groups_of_calls.clear();
  }

  /// Makes the call in both styles, and compares the results with those of one call of the original.
  void make(Batch<Integer>& batch, int calls, int supported) {
    batch.template call<abi::Style::fortran>();
    EXPECT_EQ(dispatched.calls, calls);
    EXPECT_EQ(dispatched.supported, supported);
    const std::vector<std::int64_t> of_fortran = groups_of_calls;
    std::vector<double> found = batch.results;
    std::ranges::fill(batch.results, 0.0);
    groups_of_calls.clear();
    batch.template call<abi::Style::cblas>();
    EXPECT_EQ(groups_of_calls, of_fortran);
    EXPECT_EQ(batch.results, found);
    std::ranges::fill(batch.results, 0.0);
    bool both[64] = {};
    for (std::size_t g = 0; g < batch.sizes.size(); ++g) both[2 * g] = batch.letters_a[g] != 'N';
    compute<Integer>(both, batch.m.data(), batch.n.data(), batch.k.data(), batch.alpha.data(), batch.a.data(),
                     batch.lda.data(), batch.b.data(), batch.ldb.data(), batch.beta.data(), batch.c.data(),
                     batch.ldc.data(), static_cast<Integer>(batch.sizes.size()), batch.sizes.data());
    EXPECT_EQ(batch.results, found);
  }
};
using Widths = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(GroupsOf, Widths);

const std::vector<std::int64_t> stack_of_64(64, 63 * 63);
const std::vector<std::int64_t> stack_of_2{0, 255 * 255};
const std::vector<std::int64_t> uneven{0, 400 * 400, 400 * 400 + 8};

TYPED_TEST(GroupsOf, OneGroupIsOneCall) {
  Batch<TypeParam> batch;
  batch.add(9, std::vector<std::int64_t>(12, 81), true);
  this->make(batch, 1, 1);
  EXPECT_EQ(dispatched.call.products, 12);
  EXPECT_EQ(dispatched.call.stacking[0], blas::Stacking::apart);
  EXPECT_EQ(dispatched.call.stacking[1], blas::Stacking::one);
}

TYPED_TEST(GroupsOf, LargeStacksAreCallsAndSmallGroupsStayTogether) {
  Batch<TypeParam> batch;
  batch.add(3, {0, 9, 9});
  batch.add(4, {0, 16}, true);
  batch.add(63, stack_of_64);
  batch.add(5, {0, 25});
  this->make(batch, 3, 2);
}

// A few products of medium size are made at the same time as others, one on each core.
TYPED_TEST(GroupsOf, FewProductsStayTogetherUnlessEachIsLarge) {
  Batch<TypeParam> batch;
  batch.add(255, stack_of_2);
  batch.add(5, {0, 25});
  this->make(batch, 1, 0);
}

TYPED_TEST(GroupsOf, LargeProductsOfNoStackAreCallsOfTheirOwn) {
  Batch<TypeParam> batch;
  batch.add(400, uneven, true);
  this->make(batch, 3, 3);
  Batch<TypeParam> small;
  dispatched = {};
  groups_of_calls.clear();
  small.add(20, {0, 400, 401});
  this->make(small, 1, 0);
}

TYPED_TEST(GroupsOf, AnInvalidGroupLeavesTheCallToTheOriginal) {
  Batch<TypeParam> batch;
  batch.add(255, stack_of_2);
  batch.add(4, {0, 16});
  batch.letters_a[1] = 'X';
  batch.template call<abi::Style::fortran>();
  EXPECT_EQ(dispatched.calls, 1);
  EXPECT_FALSE(dispatched.understood);
  EXPECT_EQ(groups_of_calls, std::vector<std::int64_t>{2});
}

TYPED_TEST(GroupsOf, NoGroupIsACallOfTheOriginal) {
  Batch<TypeParam> batch;
  batch.template call<abi::Style::cblas>();
  EXPECT_EQ(groups_of_calls, std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace blastoff::intercept
