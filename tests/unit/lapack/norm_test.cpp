// Norms: which calls are taken, the value of a function, and the check.
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lapack/call.h"
#include "lapack/host_routine.h"
#include "lapack/verification.h"
#include "system_library.h"

namespace blastoff {
namespace {

using lapack::Routine;

struct Norm {
  char norm = 'F';
  char uplo = 'U';
  int m = 4;
  int n = 4;
  int lda = 6;
  std::vector<double> a = std::vector<double>(64, std::nan(""));
  std::vector<double> work = std::vector<double>(8);
  double value = -1;

  Norm() {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) at(i, j) = i - 2 * j + 0.5;
  }
  double& at(int i, int j) { return a[static_cast<std::size_t>(i + j * lda)]; }
  lapack::Call general() {
    words_ = {&norm, &m, &n, a.data(), &lda, work.data()};
    return {Routine::dlange, words_, 4, &value};
  }
  lapack::Call symmetric() {
    words_ = {&norm, &uplo, &n, a.data(), &lda, work.data()};
    return {Routine::dlansy, words_, 4, &value};
  }

 private:
  std::vector<void*> words_;
};

bool taken(const lapack::Call& call) {
  return call.valid() && !call.trivial() && call.supported();
}

TEST(Norm, IsTakenWithTheLettersOfLapack) {
  for (const char letter : std::string("mM1oOiIfFeE")) {
    Norm norm;
    norm.norm = letter;
    EXPECT_TRUE(taken(norm.general())) << letter;
    EXPECT_TRUE(taken(norm.symmetric())) << letter;
  }
  Norm norm;
  norm.norm = '2';
  EXPECT_FALSE(norm.general().valid());
  norm.norm = 'F';
  norm.uplo = 'X';
  EXPECT_FALSE(norm.symmetric().valid());
  norm.lda = 3;
  EXPECT_FALSE(norm.general().valid());
  norm.lda = 6;
  norm.n = 0;
  EXPECT_TRUE(norm.general().trivial());
}

TEST(Norm, ReadsItsMatrixAndWritesItsValueAlone) {
  Norm norm;
  norm.m = 3;
  const operation::Operation operation = norm.general().operation();
  EXPECT_TRUE(operation.may_fail);
  EXPECT_TRUE(operation.work.memory_bound);
  EXPECT_EQ(operation.work.flops, 0);
  ASSERT_EQ(operation.operands().size(), 1U);
  EXPECT_EQ(operation.operands().front().rows, 3);
  EXPECT_EQ(operation.operands().front().intent, operation::Intent::read);
  const operation::HostVector& value = operation.vectors()[lapack::value_index(Routine::dlange)];
  EXPECT_EQ(value.address, &norm.value);
  EXPECT_EQ(value.bytes, sizeof(double));
  EXPECT_EQ(operation.arguments(), "F m=3 n=4");
  const operation::Operation triangle = norm.symmetric().operation();
  EXPECT_EQ(triangle.operands().front().part, operation::Part::upper);
  EXPECT_EQ(triangle.arguments(), "F U n=4");
}

class NormByLapack : public testing::TestWithParam<char> {};

TEST_P(NormByLapack, IsComputedAndChecked) {
  for (const bool symmetric : {false, true}) {
    void* const original = test::system_lapack_function(symmetric ? "dlansy_" : "dlange_");
    if (original == nullptr) GTEST_SKIP() << "no norms on this machine";
    Norm norm;
    norm.norm = GetParam();
    const lapack::Call call = symmetric ? norm.symmetric() : norm.general();
    const operation::Operation operation = call.operation();
    const auto verification = lapack::verify(operation);
    const lapack::HostRoutine host(symmetric ? Routine::dlansy : Routine::dlange, original);
    ASSERT_TRUE(host.compute(operation));
    EXPECT_GT(norm.value, 5);
    EXPECT_LE(verification->compare().relative_error, verification->compare().bound) << symmetric;
    norm.value *= 1 + 1e-12;
    EXPECT_GT(verification->compare().relative_error, verification->compare().bound) << symmetric;
    norm.value = std::nan("");
    EXPECT_GT(verification->compare().relative_error, verification->compare().bound) << symmetric;
    norm.at(1, 2) = std::nan("");
    EXPECT_LE(verification->compare().relative_error, verification->compare().bound) << symmetric;
  }
}

INSTANTIATE_TEST_SUITE_P(, NormByLapack, testing::Values('M', '1', 'I', 'F'),
                         [](const auto& instance) { return std::string(1, instance.param); });

TEST(Norm, InSinglePrecisionIsAFloat) {
  void* const original = test::system_lapack_function("clanhe_");
  if (original == nullptr) GTEST_SKIP() << "no norms on this machine";
  char norm = 'M';
  char uplo = 'L';
  int n = 2;
  std::array<std::complex<float>, 4> a{std::complex<float>{2, 100}, {3, 4}, {1000, 1000}, {1, 0}};
  std::array<float, 2> work{};
  std::array<float, 2> value{-1, -1};
  const std::vector<void*> words{&norm, &uplo, &n, a.data(), &n, work.data()};
  const lapack::Call call(Routine::clanhe, words, 4, value.data());
  const operation::Operation operation = call.operation();
  ASSERT_TRUE(lapack::HostRoutine(Routine::clanhe, original).compute(operation));
  EXPECT_EQ(value, (std::array<float, 2>{5, -1})) << "of the triangle, whose diagonal is real";
  EXPECT_LE(lapack::verify(operation)->compare().relative_error, 1e-6);
}

}  // namespace
}  // namespace blastoff
