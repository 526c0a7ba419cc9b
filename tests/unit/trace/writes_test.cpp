// A trace's records of the program's writes, with and without the kernel's tracking.
#include "trace/writes.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "blas/front_end.h"
#include "mapped_memory.h"
#include "product_call.h"

namespace blastoff::trace {
namespace {

using platform::Span;

constexpr std::int64_t order = 256;  // 128 pages a matrix
constexpr std::size_t pages = order * order * sizeof(double) / 4096;

/// C = A B on matrices that begin at page boundaries.
class Product {
 public:
  operation::Operation operation() const {
    return test::product_call({a.page(0), b.page(0), c.page(0)}, order, order, order, 1);
  }
  /// Makes a call, which writes its result; returns the writes that were found before it.
  Found call(Writes& writes) const {
    Found found = writes.before(operation());
    c.touch();
    writes.after(operation(), found.asked);
    return found;
  }
  test::Memory a{pages}, b{pages}, c{pages};
};

bool covers(const std::vector<Span>& runs, Span span) {
  return std::ranges::any_of(runs, [&](Span run) { return run.contains(span); });
}

class TrackedWrites : public testing::Test {
 protected:
  void SetUp() override {
    auto tracker = tracking::open_page_tracker();
    if (!tracker) GTEST_SKIP() << tracker.error();
    if (std::string((*tracker)->name()) != "uffd") GTEST_SKIP() << "soft-dirty bits tell of more than was written";
    writes = std::make_unique<Writes>(std::move(*tracker));
  }
  std::unique_ptr<Writes> writes;
};

TEST_F(TrackedWrites, AreThoseOfTheProgramSinceTheLastUse) {
  const Product product;
  product.a.touch();
  EXPECT_TRUE(product.call(*writes).written.empty()) << "what was never used before is not told";
  EXPECT_TRUE(product.call(*writes).written.empty()) << "the call's own result counts";
  *product.a.page(5) = 7;
  *product.c.page(9) = 7;
  const Found found = product.call(*writes);
  EXPECT_TRUE(covers(found.written, product.a.pages(5, 1)));
  EXPECT_TRUE(covers(found.written, product.c.pages(9, 1)));
  EXPECT_FALSE(covers(found.written, product.a.pages(6, 1)));
  EXPECT_TRUE(product.call(*writes).written.empty());
}

TEST_F(TrackedWrites, OfACallAroundAnotherAreNotTheProgramsEither) {
  const Product outer;
  outer.call(*writes);
  outer.call(*writes);
  const Found found = writes->before(outer.operation());
  ASSERT_TRUE(found.asked);
  outer.c.touch();
  const Found inner = outer.call(*writes);
  EXPECT_TRUE(inner.asked && inner.written.empty()) << "an inner call on the same matrices";
  outer.c.touch();
  writes->after(outer.operation(), found.asked);
  const Found next = outer.call(*writes);
  EXPECT_TRUE(next.asked && next.written.empty());
  *outer.c.page(3) = 7;
  EXPECT_TRUE(covers(outer.call(*writes).written, outer.c.pages(3, 1)));
}

TEST_F(TrackedWrites, ACallThatIsNotAskedAboutTakesNoFaultsOnItsResult) {
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  const Product product;
  product.call(*writes);
  product.call(*writes);  // and protects the result, to notice the program's writes
  writes->pass_over(product.operation());
  const long before = faults();
  product.c.touch();
  EXPECT_LT(faults() - before, static_cast<long>(pages / 8));
}

TEST_F(TrackedWrites, AreLookedForInAFewOfManyShortCalls) {
  const Product product;
  constexpr int calls = 20000;  // each takes microseconds
  int asked = 0;
  for (int i = 0; i < calls; ++i) asked += product.call(*writes).asked ? 1 : 0;
  EXPECT_GT(asked, 10);
  EXPECT_LT(asked, calls / 5);
}

TEST_F(TrackedWrites, MemoryThatGoesIsTold) {
  const Product product;
  product.call(*writes);
  void* const place = product.b.page(0);
  ASSERT_EQ(
      mmap(place, product.b.span().bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      place);
  EXPECT_TRUE(covers(product.call(*writes).gone, product.b.span()));
}

TEST_F(TrackedWrites, OfAMatrixThatIsRewrittenAreFoundByElements) {
  const Product product;
  product.call(*writes);
  for (int round = 0; round < 5; ++round) {
    std::memset(product.a.page(0), round + 1, product.a.span().bytes());
    const Found found = product.call(*writes);
    ASSERT_TRUE(found.asked);
    EXPECT_TRUE(round == 2 || covers(found.written, product.a.span()))
        << round;  // then the elements are examined first
  }
}

TEST(SampledWrites, AreAllPagesOrNone) {
  Writes writes(nullptr);
  EXPECT_STREQ(writes.method(), "samples");
  const Product product;
  EXPECT_TRUE(product.call(writes).written.empty());
  EXPECT_TRUE(product.call(writes).written.empty());
  std::memset(product.a.page(0), 1, product.a.span().bytes());
  const Found found = product.call(writes);
  EXPECT_TRUE(covers(found.written, product.a.span()));
  EXPECT_EQ(found.written.size(), 1U);
}

}  // namespace
}  // namespace blastoff::trace
