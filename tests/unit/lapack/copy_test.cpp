// Copies: which part is copied, which calls are left alone, and the check.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "lapack/call.h"
#include "lapack/host_routine.h"
#include "lapack/verification.h"
#include "system_library.h"

namespace blastoff {
namespace {

using lapack::Routine;

struct Copying {
  char uplo = 'A';
  int m = 4;
  int n = 4;
  int lda = 6;
  int ldb = 5;
  std::vector<double> a = std::vector<double>(64);
  std::vector<double> b = std::vector<double>(64, -1);
  double* to = b.data();

  Copying() {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i);
  }
  lapack::Call call() {
    words_ = {&uplo, &m, &n, a.data(), &lda, to, &ldb};
    return {Routine::dlacpy, words_, 4};
  }

 private:
  std::vector<void*> words_;
};

bool taken(Copying& copying) {
  const lapack::Call call = copying.call();
  return call.valid() && !call.trivial() && call.supported();
}

TEST(Copy, IsOfATriangleOrOfTheWholeMatrix) {
  for (const auto& [letter, part] : {std::pair{'U', operation::Part::upper},
                                     {'l', operation::Part::lower},
                                     {'A', operation::Part::full},
                                     {' ', operation::Part::full}}) {
    Copying copying;
    copying.uplo = letter;
    ASSERT_TRUE(taken(copying)) << letter;
    const operation::Operation operation = copying.call().operation();
    EXPECT_FALSE(operation.may_fail);
    EXPECT_EQ(operation.work.flops, 0);
    EXPECT_EQ(operation.operands().front().part, part);
    EXPECT_EQ(operation.operands().front().intent, operation::Intent::read);
    EXPECT_EQ(operation.operands().back().part, part);
    EXPECT_EQ(operation.operands().back().intent, operation::Intent::write);
    EXPECT_TRUE(operation.vectors().empty());
  }
}

TEST(Copy, IsLeftAloneWhereADeviceWouldCopyOtherwise) {
  const auto with = [](auto change) {
    Copying copying;
    change(copying);
    return taken(copying);
  };
  EXPECT_TRUE(with([](Copying& c) { c.m = 3; }));
  EXPECT_FALSE(with([](Copying& c) { c.m = 3, c.uplo = 'U'; })) << "a trapezoid";
  EXPECT_FALSE(with([](Copying& c) { c.m = 7; })) << "no room for the rows";
  EXPECT_FALSE(with([](Copying& c) { c.to = c.a.data() + 6; })) << "columns move within a matrix";
  EXPECT_FALSE(with([](Copying& c) { c.n = 0; }));
}

TEST(Copy, IsMadeByTheProgramsLapackAndChecked) {
  void* const original = test::system_lapack_function("dlacpy_");
  if (original == nullptr) GTEST_SKIP() << "no dlacpy on this machine";
  for (const char letter : {'U', 'L', 'A'}) {
    Copying copying;
    copying.uplo = letter;
    const operation::Operation operation = copying.call().operation();
    const auto verification = lapack::verify(operation);
    ASSERT_TRUE(lapack::HostRoutine(Routine::dlacpy, original).compute(operation));
    int copied = 0;
    for (std::size_t i = 0; i < copying.b.size(); ++i) {
      if (copying.b[i] == -1) continue;
      ++copied;
      EXPECT_EQ(copying.b[i], copying.a[i / 5 * 6 + i % 5]) << i;
    }
    EXPECT_EQ(copied, letter == 'A' ? 16 : 10);
    EXPECT_LE(verification->compare().relative_error, verification->compare().bound);
    copying.b[0] += 1;
    EXPECT_GT(verification->compare().relative_error, verification->compare().bound);
  }
}

}  // namespace
}  // namespace blastoff
