// The estimates that policies give for an operation before it begins.
#include <gtest/gtest.h>

#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

constexpr std::int64_t size = 512;
constexpr std::uint64_t matrix_bytes = size * size * sizeof(double);

class ResidencyEstimate : public RigTest {
 protected:
  operation::Estimate estimate(const Case& test) {
    const auto estimate = rig_->policy().estimate(test.call());
    EXPECT_TRUE(estimate);
    return estimate.value_or(operation::Estimate{});
  }

  void run(Case& test) {
    test.expect();
    const auto outcome = run_call(rig_->policy(), queues_, test.call());
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    test.expect_right("between estimates");
  }

  void expect(const Case& test, std::uint64_t resident, std::uint64_t missing, std::uint64_t dirty,
              const std::string& what) {
    const operation::Estimate found = estimate(test);
    EXPECT_EQ(found.resident, resident) << what;
    EXPECT_EQ(found.missing, missing) << what;
    EXPECT_EQ(found.dirty, dirty) << what;
  }
};

#define START(...)    \
  start(__VA_ARGS__); \
  if (testing::Test::IsSkipped()) return

/// A product that reads A and B and writes C. k is small, so that the reference has little work.
Case product(double beta = 0, std::int64_t gap = 0) {
  return Case(options_of(blas::Routine::dsyrk, size, size, size, beta), gap, Edge::first_element);
}

TEST_F(ResidencyEstimate, OfMirrorsFreshAndResident) {
  START({"first-use", "simulated"});
  for (const std::int64_t gap : {0, 3, 600}) {
    Case test = product(0, gap);
    expect(test, 0, matrix_bytes, 0, "fresh");
    run(test);
    expect(test, matrix_bytes, 0, 0, "resident");
    expect(test, matrix_bytes, 0, 0, "asked again");
  }
}

TEST_F(ResidencyEstimate, CountsOnlyWhatIsRead) {
  START({"first-use", "simulated"});
  const std::uint64_t triangle = size * (size + 1) / 2 * sizeof(double);
  const Case writing = product(0);
  const Case updating = product(1);
  expect(writing, 0, matrix_bytes, 0, "written");
  expect(updating, 0, matrix_bytes + triangle, 0, "updated");
}

// Writes since the last use are not known before the next use. After that use, the bytes are on the device again.
TEST_F(ResidencyEstimate, OfMirrorsPartWritten) {
  START({"first-use", "simulated"});
  Case whole = product();
  run(whole);
  blas::Call half = whole.call();
  half.k = size / 2;  // uses half of A's columns
  void* const addresses[2] = {whole.operand(0).address(), whole.result().address()};
  const std::int64_t leading[2] = {size, size};
  Case other = product();
  void* const others[2] = {other.operand(0).address(), other.result().address()};
  blas::Call half_of_other = half;
  blas::shape_operands(half, addresses, leading);
  blas::shape_operands(half_of_other, others, leading);
  ASSERT_FALSE(run_call(rig_->policy(), queues_, half_of_other).error);
  expect(other, matrix_bytes / 2, matrix_bytes / 2, 0, "half of it used");
  expect(whole, matrix_bytes, 0, 0, "all of it used");
}

TEST_F(ResidencyEstimate, OfMirrorsRewrittenBeforeEachUse) {
  START({"first-use", "simulated"});
  Case test = product();
  for (int round = 0; round < 3; ++round) {
    test.refill(0);
    run(test);
  }
  expect(test, 0, 0, matrix_bytes, "rewritten");
}

TEST_F(ResidencyEstimate, OfMirrorsEvicted) {
  RigOptions options;
  options.budget = std::size_t{6} << 20;
  START({"first-use", "simulated"}, options);
  Case test = product();
  run(test);
  expect(test, matrix_bytes, 0, 0, "resident");
  Case another = product();
  run(another);
  Case third = product();
  run(third);
  expect(test, 0, matrix_bytes, 0, "evicted");
}

TEST_F(ResidencyEstimate, OfCopiesIsAlwaysAll) {
  START({"copy", "simulated"});
  Case test = product();
  expect(test, 0, matrix_bytes, 0, "fresh");
  run(test);
  expect(test, 0, matrix_bytes, 0, "used");
}

TEST_F(ResidencyEstimate, OfOperandsInPlaceIsNothingToBring) {
  START({"coherent", "simulated"});
  const Case test = product();
  expect(test, matrix_bytes, 0, 0, "where it is");
  EXPECT_EQ(estimate(test).moved, 0U);
}

TEST_F(ResidencyEstimate, OfMovedMemory) {
  START({"moves", "simulated"});
  Case test = product();
  expect(test, 0, matrix_bytes, 0, "fresh");
  run(test);
  expect(test, matrix_bytes, 0, 0, "moved");
  EXPECT_EQ(estimate(test).moved, matrix_bytes);
}

}  // namespace
}  // namespace blastoff::test
