// Results that stay only where the program did not look at earlier ones.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "platform/span.h"
#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

using blas::Routine;

class StayingResults : public RigTest {
 protected:
  void SetUp() override {
    RigOptions options;
    options.results = residency::Results::automatic;
    options.slot_bytes = std::size_t{1} << 20;
    start(Flavour{"stay", "simulated"}, options);
  }
  static blas::Call product(double beta) { return options_of(Routine::dgemm, 1500, 1500, 4, beta); }
  /// Makes the call. Returns the bytes of its result that stayed.
  std::uint64_t left(const Case& test) { return run_call(rig_->policy(), queues_, test.call()).traffic.bytes_left; }
  /// What can stay of a result of 18 MB.
  static std::uint64_t most(const Case& test) {
    return test.call().result().payload_bytes() - 2 * platform::page_size();
  }
};

// A large result that the program does not look at stays from its second use on, and goes home when it has been looked
// at.
TEST_F(StayingResults, APieceTellsWhetherTheProgramLooks) {
  Case test(product(1), 0, Edge::first_element);
  Case twin(product(1), 0, Edge::first_element);
  for (int call = 0; call < 4; ++call) {
    reference::compute(twin.call());
    const std::uint64_t bytes = left(test);
    if (call == 0)
      EXPECT_EQ(bytes, 0U) << "only the piece";
    else
      EXPECT_GE(bytes, most(test)) << "call " << call;
  }
  EXPECT_EQ(test.result().bytes(), twin.result().bytes());
  for (int call = 0; call < 3; ++call) {
    reference::compute(twin.call());
    EXPECT_EQ(left(test), 0U) << "it was looked at";
    EXPECT_EQ(test.result().bytes(), twin.result().bytes());
  }
}

// As in NumPy, where each result is a new array.
TEST_F(StayingResults, InNewMemoryTheResultsBeforeTell) {
  for (int call = 0; call < 8; ++call) {
    Case test(product(0), 0, Edge::first_element);
    const std::uint64_t bytes = left(test);
    if (call < 3)
      EXPECT_EQ(bytes, 0U) << "call " << call << ": only the piece";
    else
      EXPECT_GE(bytes, most(test)) << "call " << call;
  }
  int stayed = 0;
  for (int call = 0; call < 6; ++call) {
    Case test(product(0), 0, Edge::first_element);
    test.expect();
    if (left(test) > 0) ++stayed;
    test.expect_right("a result that is looked at");
  }
  EXPECT_GE(stayed, 1);
  EXPECT_LE(stayed, 3);
}

}  // namespace
}  // namespace blastoff::test
