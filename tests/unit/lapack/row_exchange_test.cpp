// Row exchanges: which rows of the matrix a call uses, what the program's own LAPACK makes of it, and its check.
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "lapack/call.h"
#include "lapack/host_routine.h"
#include "lapack/sized_work.h"
#include "lapack/verification.h"
#include "system_library.h"

namespace blastoff {
namespace {

using lapack::Routine;

/// A matrix of doubles and its exchanges. Each element is its own number; those below a column are no numbers.
struct Exchange {
  int n = 5;
  int lda = 14;
  int k1 = 3;
  int k2 = 5;
  int incx = 1;
  std::vector<int> pivots{-7, 99, 9, 4, 11};
  std::vector<double> a = numbered();

  static constexpr int rows = 12;

  std::vector<double> numbered() const {
    std::vector<double> elements(static_cast<std::size_t>(lda * n));
    for (int i = 0; i < lda * n; ++i)
      elements[static_cast<std::size_t>(i)] = i % lda < rows ? i : std::numeric_limits<double>::quiet_NaN();
    return elements;
  }
  double at(int row, int column) const { return a[static_cast<std::size_t>(row - 1 + column * lda)]; }

  std::vector<void*>& words() {
    words_ = {&n, a.data(), &lda, &k1, &k2, pivots.data(), &incx};
    return words_;
  }
  lapack::Call call() { return {Routine::dlaswp, words(), 4}; }

 private:
  std::vector<void*> words_;
};

TEST(RowExchange, UsesTheRowsFromTheFirstToTheLastThatIsExchanged) {
  Exchange exchange;
  const lapack::Call call = exchange.call();
  ASSERT_TRUE(call.valid() && call.supported() && !call.trivial());
  const operation::Operation operation = call.operation();
  EXPECT_FALSE(operation.may_fail);
  EXPECT_EQ(operation.work.flops, 0);
  const operation::Operand matrix = operation.operands().front();
  EXPECT_EQ(matrix.address, &exchange.a[2]);
  EXPECT_EQ(matrix.rows, 9);  // 3 to 11
  EXPECT_EQ(matrix.columns, 5);
  EXPECT_EQ(matrix.leading_dimension, 14);
  EXPECT_EQ(matrix.intent, operation::Intent::update);
  EXPECT_EQ(operation.vectors().front().address, &exchange.pivots[2]);
  EXPECT_EQ(operation.vectors().front().bytes, 3 * sizeof(int));
  EXPECT_EQ(operation.arguments(), "n=5 k1=3 k2=5 incx=1");
  exchange.pivots[3] = 2;
  EXPECT_EQ(exchange.call().operation().operands().front().address, &exchange.a[1]) << "a pivot above k1";
}

TEST(RowExchange, IsSmallIfItsWholeMatrixIsSmall) {
  Exchange exchange;
  const operation::Work work = lapack::sized_work(Routine::dlaswp, exchange.words().data(), 4);
  EXPECT_EQ(work.flops, 0);
  EXPECT_EQ(work.volume, 2.0 * sizeof(double) * exchange.n * exchange.lda);
  EXPECT_GT(work.volume, exchange.call().operation().work.volume);
}

TEST(RowExchange, IsLeftAloneWhereItExchangesNothingOrInAnotherWay) {
  const auto with = [](auto change) {
    Exchange exchange;
    change(exchange);
    const lapack::Call call = exchange.call();
    return std::vector<bool>{call.valid(), call.trivial(), call.valid() && (call.trivial() || call.supported())};
  };
  using Verdicts = std::vector<bool>;
  EXPECT_EQ(with([](Exchange& e) { e.n = 0; }), (Verdicts{true, true, true}));
  EXPECT_EQ(with([](Exchange& e) { e.k2 = 2; }), (Verdicts{true, true, true}));
  EXPECT_EQ(with([](Exchange& e) { e.incx = 0; }), (Verdicts{true, true, true}));
  EXPECT_EQ(with([](Exchange& e) { e.incx = 2; }), (Verdicts{true, false, false}));
  EXPECT_EQ(with([](Exchange& e) { e.k1 = 0; }), (Verdicts{true, false, false}));
  EXPECT_EQ(with([](Exchange& e) { e.pivots[4] = 0; }), (Verdicts{true, false, false}));
  EXPECT_EQ(with([](Exchange& e) { e.pivots[4] = 15; }), (Verdicts{false, false, false})) << "no row of the matrix";
  EXPECT_EQ(with([](Exchange& e) { e.n = -1; }), (Verdicts{false, false, false}));
}

TEST(RowExchange, IsMadeByTheProgramsLapackAndChecked) {
  using Function = void(const int*, double*, const int*, const int*, const int*, const int*, const int*);
  auto* const original = reinterpret_cast<Function*>(test::system_lapack_function("dlaswp_"));
  if (original == nullptr) GTEST_SKIP() << "no dlaswp on this machine";
  for (const int incx : {1, -1})
    for (const int above : {9, 2}) {
      Exchange exchange;
      exchange.incx = incx;
      exchange.pivots[2] = above;
      Exchange expected = exchange;
      original(&expected.n, expected.a.data(), &expected.lda, &expected.k1, &expected.k2, expected.pivots.data(),
               &expected.incx);
      const operation::Operation operation = exchange.call().operation();
      const auto verification = lapack::verify(operation);
      const lapack::HostRoutine host(Routine::dlaswp, reinterpret_cast<void*>(original));
      ASSERT_TRUE(host.compute(operation));
      for (int j = 0; j < exchange.n; ++j)
        for (int i = 1; i <= Exchange::rows; ++i) EXPECT_EQ(exchange.at(i, j), expected.at(i, j)) << i << ", " << j;
      EXPECT_LE(verification->compare().relative_error, verification->compare().bound);
      EXPECT_TRUE(verification->compare().checked);
      exchange.a[6] = -exchange.a[6];
      EXPECT_GT(verification->compare().relative_error, verification->compare().bound);
    }
}

TEST(RowExchange, TakesPivotsOf64Bits) {
  std::int64_t n = 1, lda = 4, k1 = 2, k2 = 2, incx = 1;
  std::vector<std::int64_t> pivots{0, 4};
  std::vector<float> a(4);
  const std::vector<void*> words{&n, a.data(), &lda, &k1, &k2, pivots.data(), &incx};
  const operation::Operation operation = lapack::Call(Routine::slaswp, words, 8).operation();
  EXPECT_EQ(operation.operands().front().rows, 3);
  EXPECT_EQ(operation.vectors().front().bytes, sizeof(std::int64_t));
}

}  // namespace
}  // namespace blastoff
