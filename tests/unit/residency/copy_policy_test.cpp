#include "residency/copy_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "blas/blocks.h"
#include "product_call.h"
#include "residency/copy/layout.h"
#include "residency_rig.h"
#include "test_call.h"

namespace blastoff::residency {
namespace {

using blas::Routine;
using test::Flavour;
using test::Rig;
using test::RigOptions;
using test::run_call;
using test::TestCall;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

blas::Call gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  static char somewhere[3];
  return test::product_call({&somewhere[0], &somewhere[1], &somewhere[2]}, m, n, k);
}

TEST(CopyLayout, SmallCallsStayWhole) {
  const blas::Call call = gemm(300, 300, 300);
  EXPECT_EQ(copy::lay_out(call, copy::suitable_panel_bytes(call, 64 * mebibyte)).panels.size(), 1u);
}

TEST(CopyLayout, LargeCallsAreCutWithTheSharedOperandWhole) {
  const blas::Call call = gemm(4000, 4000, 4000);
  const copy::Layout layout = copy::lay_out(call, copy::suitable_panel_bytes(call, 64 * mebibyte));
  EXPECT_GT(layout.panels.size(), 4u);
  EXPECT_TRUE(layout.operands[0].whole);
  EXPECT_FALSE(layout.operands[1].whole);
  EXPECT_FALSE(layout.operands[2].whole);
  for (const std::size_t sliced : {1, 2}) EXPECT_LT(layout.operands[sliced].buffer_bytes, std::size_t{4000} * 600 * 8);
}

TEST(CopyLayout, LargeResultsAreCutForTheSlots) {
  const blas::Call call = gemm(2000, 600, 8);
  const copy::Layout layout = copy::lay_out(call, copy::suitable_panel_bytes(call, mebibyte));
  for (const operation::Operation& panel : layout.panels) EXPECT_LT(panel.result_bytes(), 2 * mebibyte);
}

TEST(CopyLayout, ColumnsAreAlignedUnlessSmallOrDense) {
  operation::Operand operand{.rows = 1001, .columns = 1000, .leading_dimension = 5000, .element_size = 8};
  EXPECT_EQ(copy::device_leading_dimension(operand) * 8 % 128, 0);
  operand.rows = 1002;
  EXPECT_EQ(copy::device_leading_dimension(operand), 1002);
  operand.rows = 33;
  operand.columns = 33;
  EXPECT_EQ(copy::device_leading_dimension(operand), 33);
}

RigOptions rig_options(std::size_t memory, std::size_t budget) {
  RigOptions options;
  options.simulated_memory = memory;
  options.budget = budget;
  return options;
}

class CopyPolicyTest : public ::testing::Test {
 protected:
  void start(const RigOptions& options, const std::string& device = "simulated") {
    std::string reason;
    rig_ = Rig::create({"copy", device}, options, reason);
    ASSERT_NE(rig_, nullptr) << reason;
    queues_ = rig_->queues();
  }

  /// Runs the call on a copy of the result and compares with the CPU.
  Traffic run_and_compare(const TestCall& test) {
    auto computed = test.result();
    auto expected = test.result();
    const auto outcome = run_call(rig_->policy(), queues_, test.with_result(computed));
    EXPECT_FALSE(outcome.error) << outcome.error->message;
    reference::compute(test.with_result(expected));
    EXPECT_LE(test.difference(computed, expected), test::rounding) << test::describe(test.call());
    return outcome.traffic;
  }

  std::unique_ptr<Rig> rig_;
  device::CallQueues queues_;
};

TEST_F(CopyPolicyTest, TheSameMatrixTwiceIsUploadedOnce) {
  start({});
  TestCall test(Routine::dgemm, {}, 60, 60, 60, 1, 0);
  blas::Call call = test.call();
  call.operands()[1] = call.operands()[0];
  const auto outcome = run_call(rig_->policy(), queues_, call);
  ASSERT_FALSE(outcome.error);
  EXPECT_EQ(outcome.traffic.bytes_to_device, call.operands()[0].payload_bytes());

  auto expected = test.result();
  blas::Call shadow = call;
  shadow.result().address = expected.data();
  reference::compute(shadow);
  const auto* first = static_cast<const std::byte*>(call.result().address);
  EXPECT_TRUE(std::equal(first, first + call.result().span_bytes(), expected.begin()));
}

TEST_F(CopyPolicyTest, TrianglesTravelAsLittleMoreThanTriangles) {
  start({});
  const std::int64_t n = 1024;
  const TestCall test(Routine::ssymm, {}, n, 8, n, 1, 0);
  const auto outcome = run_call(rig_->policy(), queues_, test.call());
  ASSERT_FALSE(outcome.error);
  const std::uint64_t triangle = n * (n + 1) / 2 * 4;
  const std::uint64_t other = test.call().operands()[1].payload_bytes();
  EXPECT_GE(outcome.traffic.bytes_to_device, triangle + other);
  EXPECT_LT(outcome.traffic.bytes_to_device, triangle * 5 / 4 + other);
}

TEST_F(CopyPolicyTest, FitsLargeCallsIntoLittleMemoryByNarrowerPanels) {
  start(rig_options(64 * mebibyte, 3 * mebibyte), "delayed");
  // 8 MiB of result, 8 MiB of B, little A.
  const TestCall test(Routine::dgemm, {}, 1000, 1000, 1000, 0, 1);
  blas::Call call = test.call();
  EXPECT_GT(call.operands()[0].payload_bytes(), 3 * mebibyte);
  const auto refused = run_call(rig_->policy(), queues_, call);
  ASSERT_TRUE(refused.error);  // A alone does not fit
  EXPECT_EQ(refused.error->kind, device::ErrorKind::out_of_memory);

  const TestCall flat(Routine::dgemm, {}, 1000, 1000, 4, 1, 1);
  run_and_compare(flat);
}

TEST_F(CopyPolicyTest, KeepsBuffersBetweenCallsWithinTheBudget) {
  start(rig_options(256 * mebibyte, 8 * mebibyte));
  const TestCall test(Routine::dgemm, {}, 100, 100, 100, 1, 1);
  run_and_compare(test);
  const std::size_t after_one = rig_->free_memory();
  for (int i = 0; i < 5; ++i) run_and_compare(test);
  EXPECT_EQ(rig_->free_memory(), after_one);
  for (std::int64_t n = 50; n < 500; n += 37) run_and_compare(TestCall(Routine::dgemm, {}, n, n, 20, 1, 1));
  EXPECT_LE(rig_->free_at_start() - rig_->free_memory(), 8 * mebibyte);
}

TEST_F(CopyPolicyTest, OverlapsPanelsRightlyOnADeviceThatWorksLate) {
  RigOptions options = rig_options(512 * mebibyte, 400 * mebibyte);
  options.slot_bytes = mebibyte;
  options.slots = 16;
  start(options, "delayed");
  const auto right = test::Options{.side = blas::Side::right};
  for (const TestCall& test :
       {TestCall(Routine::dgemm, {}, 1500, 1500, 6, 1, 1), TestCall(Routine::dsyrk, {}, 1500, 1500, 6, 1, 1),
        TestCall(Routine::dtrsm, {}, 24, 60000, 24, 1, 1), TestCall(Routine::dtrmm, right, 60000, 24, 24, 1, 1),
        TestCall(Routine::dsymm, right, 60000, 24, 24, 1, 0)}) {
    const std::size_t panel_bytes = copy::suitable_panel_bytes(test.call(), 2 * mebibyte);
    EXPECT_GT(copy::lay_out(test.call(), panel_bytes).panels.size(), 3u);
    run_and_compare(test);
  }
}

/// The only series of blocks of a call, of which half of `bytes` holds what one of them needs whole.
std::vector<blas::Call> series_of(const blas::Call& call, std::size_t bytes) {
  const std::vector<std::vector<blas::Call>> all = blas::blocks(call, bytes);
  EXPECT_EQ(all.size(), 1U);
  return all.front();
}

TEST_F(CopyPolicyTest, ASeriesIsTheCallAndBringsTheOtherMatrixOnceForEachBlock) {
  const auto transposed = test::Options{.transpose_a = blas::Transpose::transpose};
  for (const char* device : {"simulated", "delayed"}) {
    RigOptions options = rig_options(16 * mebibyte, 7 * mebibyte / 4);
    options.slot_bytes = mebibyte / 16;
    options.slots = 8;
    start(options, device);
    for (const TestCall& test :
         {TestCall(Routine::dgemm, {}, 500, 300, 250, 1, 0), TestCall(Routine::dgemm, transposed, 499, 301, 250, 1, 1),
          TestCall(Routine::zgemm, {}, 350, 150, 127, {1, 2}, {0.5, 1}),
          TestCall(Routine::dgemm, {}, 500, 2, 250, 1, 0)}) {
      auto computed = test.result();
      auto expected = test.result();
      const auto series = series_of(test.with_result(computed), mebibyte / 2);
      ASSERT_GT(series.size(), 2U);
      const auto outcome = test::run_series(rig_->policy(), queues_, series);
      ASSERT_FALSE(outcome.error) << outcome.error->message;
      reference::compute(test.with_result(expected));
      EXPECT_LE(test.difference(computed, expected), test::rounding) << test::describe(test.call());
      const auto bytes = [&](std::size_t i) { return test.call().operands()[i].payload_bytes(); };
      const std::size_t result = operation::reads(test.call().result().intent) ? bytes(2) : 0;
      EXPECT_EQ(outcome.traffic.bytes_to_device, bytes(0) + series.size() * bytes(1) + result);
      EXPECT_EQ(outcome.traffic.bytes_from_device, bytes(2));
    }
  }
}

TEST_F(CopyPolicyTest, RefusesASeriesOfWhichTwoCallsDoNotFitAtOnce) {
  start(rig_options(16 * mebibyte, 7 * mebibyte / 4));
  const TestCall test(Routine::dgemm, {}, 500, 300, 500, 1, 0);
  auto computed = test.result();
  const auto series = series_of(test.with_result(computed), 2 * mebibyte);
  const auto outcome = test::run_series(rig_->policy(), queues_, series);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->kind, device::ErrorKind::out_of_memory);
  EXPECT_FALSE(outcome.begun);
  EXPECT_FALSE(test::run_call(rig_->policy(), queues_, series.front()).error) << "one does";
}

/// Whatever fails, wherever: each panel's result is all there or not there at all, and the policy says which.
class CopyPolicyFaults : public CopyPolicyTest {
 protected:
  using Run = std::function<test::Outcome(const blas::Call&)>;

  void check(const TestCall& test, const Run& run) {
    auto computed = test.result();
    const auto before = test.result();
    auto expected = test.result();
    const auto outcome = run(test.with_result(computed));
    ASSERT_TRUE(outcome.error || outcome.panels.size() > 4);
    reference::compute(test.with_result(expected));
    if (!outcome.error) {
      EXPECT_EQ(computed, expected);
      return;
    }
    for (std::size_t i = 0; i < outcome.states.size(); ++i) {
      ASSERT_NE(outcome.states[i], HostState::torn);
      const auto& wanted = outcome.states[i] == HostState::complete ? expected : before;
      EXPECT_TRUE(holds(blas::call_of(outcome.panels[i]).result(), computed, wanted)) << i;
    }
    EXPECT_TRUE(!outcome.states.empty() || computed == before);
  }

  void check_every_fault(const TestCall& test, const Run& run) {
    for (const char* device : {"simulated", "delayed"}) {
      for (const char* operation : {"allocate", "to-device", "to-host", "execute", "record", "wait", "synchronize"}) {
        for (const char* kind : {":memory", ":lost"}) {
          for (int count = 1; count < 40; count += 5) {
            RigOptions options = rig_options(16 * mebibyte, 8 * mebibyte);
            options.fault = operation + (":" + std::to_string(count)) + kind;
            options.slot_bytes = 16384;
            options.slots = 8;
            start(options, device);
            SCOPED_TRACE(testing::Message() << device << " " << operation << " " << count << kind);
            check(test, run);
            if (HasFailure()) return;
          }
        }
      }
    }
  }

 private:
  static bool holds(const operation::Operand& panel, const std::vector<std::byte>& computed,
                    const std::vector<std::byte>& wanted) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(panel.address) - computed.data());
    for (std::int64_t column = 0; column < panel.columns; ++column) {
      const std::size_t at = offset + static_cast<std::size_t>(column) * panel.stride_bytes();
      if (!std::equal(&computed[at], &computed[at] + panel.column_bytes(), &wanted[at])) return false;
    }
    return true;
  }
};

TEST_F(CopyPolicyFaults, OfACall) {
  check_every_fault(TestCall(Routine::dgemm, {}, 100, 150, 2, 1, 1),
                    [&](const blas::Call& call) { return run_call(rig_->policy(), queues_, call); });
}

TEST_F(CopyPolicyFaults, OfASeries) {
  check_every_fault(TestCall(Routine::dgemm, {}, 200, 150, 40, 1, 1), [&](const blas::Call& call) {
    return test::run_series(rig_->policy(), queues_, series_of(call, 40'000));
  });
}

}  // namespace
}  // namespace blastoff::residency
