// The steps of a call as the decision sees them: it is asked before the call and told afterwards, wherever the call
// ran.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "blas/front_end.h"
#include "blas/shape.h"
#include "intercept/dispatch.h"
#include "product_call.h"
#include "reference_blas.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "runtime/process.h"
#include "runtime/settled_calls.h"

namespace blastoff {

namespace {

struct Told {
  operation::Operation operation;
  decide::Observation observation;
};

/// Sends calls to the CPU or the device as the test requires.
class RecordingDecider final : public decide::Decider {
 public:
  double floor_volume() const override { return 1000; }
  report::Refusal judge(const operation::Operation& operation, operation::Estimator& residency,
                        decide::PredictedSeconds*) override {
    estimate = residency.estimate(operation);
    return refusal;
  }
  double cpu_seconds(const operation::Operation&, double) const override { return 0; }
  void use(const decide::MachineModel&) override {}
  void observe(const operation::Operation& operation, const decide::Observation& observation) override {
    told.push_back({operation, observation});
  }

  double measured_cpu_seconds(const operation::Operation&) const override { return 1e-6; }
  std::uint32_t settled_calls(const operation::Operation&) override { return settled; }

  report::Refusal refusal = report::Refusal::none;
  std::uint32_t settled = 0;
  std::optional<operation::Estimate> estimate;
  std::vector<Told> told;
};

RecordingDecider* the_decider = nullptr;

}  // namespace

// Replaces the rule, with which this program is not linked.
std::unique_ptr<decide::Decider> decide::by_size_and_depth(std::int64_t) {
  auto decider = std::make_unique<RecordingDecider>();
  the_decider = decider.get();
  return decider;
}
std::unique_ptr<decide::Decider> decide::by_time(std::optional<std::int64_t>, const MachineModel&) {
  return by_size_and_depth(0);
}

namespace {

class Road : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("BLASTOFF_DEVICE", "simulated", 1);
    setenv("BLASTOFF_POLICY", "copy", 1);
    setenv("BLASTOFF_SUMMARY", "never", 1);
    runtime::Process::instance();
  }
  void SetUp() override { the_decider->told.clear(); }

  /// C = A B of order n. The CPU's routine only counts its calls.
  static void call(std::int64_t n, bool valid = true, bool trivial = false) {
    std::vector<double> a(static_cast<std::size_t>(n * n), 1), b(a), c(a);
    make(test::product_call({a.data(), b.data(), c.data()}, n, n, n), valid, trivial);
    EXPECT_EQ(c.front(), originals_ == 0 ? static_cast<double>(n) : 1);
  }

  /// y = A x of order n.
  static void call_with_vector(std::int64_t n) {
    std::vector<double> a(static_cast<std::size_t>(n * n), 1), x(a), y(a);
    blas::Call product;
    product.routine = blas::Routine::dgemv;
    product.m = product.n = n;
    product.alpha = 1;
    void* const addresses[] = {a.data(), x.data(), y.data()};
    const std::int64_t leading[] = {n, 1, 1};
    blas::shape_operands(product, addresses, leading);
    make(product, true, false);
  }

  static void make(const blas::Call& product, bool valid, bool trivial) {
    const intercept::EntryPoint entry{"dgemm_", "", "_", {}, {abi::Style::fortran, abi::IntegerWidth::lp64}, false};
    intercept::Original original;
    original.function = &originals_;
    const intercept::RawArguments raw{[](const void*, void* count) { ++*static_cast<int*>(count); }, nullptr};
    const intercept::InterceptedCall intercepted{
        entry,
        original,
        raw,
        blas::front_end(),
        static_cast<std::size_t>(product.routine),
        [](const intercept::InterceptedCall&) {
          return std::unique_ptr<operation::Host>(new reference::ReferenceRoutine);
        }};
    const intercept::Parsed parsed{
        valid,
        trivial,
        blas::volume(product),
        blas::flops(product),
        &product,
        [](const void* made) { return blas::operation_of(*static_cast<const blas::Call*>(made)); },
        true,
        [](const void* made) { return blas::likeness(*static_cast<const blas::Call*>(made)); }};
    originals_ = 0;
    intercept::dispatch(intercepted, &parsed);
  }

  static inline int originals_ = 0;
};

TEST_F(Road, TheDecisionHearsOfCallsOnTheDevice) {
  the_decider->refusal = report::Refusal::none;
  call(50);
  EXPECT_EQ(originals_, 0);
  ASSERT_EQ(the_decider->told.size(), 1u);
  const auto& [operation, observation] = the_decider->told.front();
  EXPECT_EQ(operation.work.flops, 2.0 * 50 * 50 * 50);
  EXPECT_TRUE(observation.on_device);
  EXPECT_FALSE(observation.operands_kept);
  EXPECT_GT(observation.seconds, 0);
  EXPECT_EQ(observation.bytes_to_device, 2u * 50 * 50 * 8);
  EXPECT_EQ(observation.bytes_from_device, 50u * 50 * 8);
}

TEST_F(Road, TheDecisionHearsOfCallsOnTheCpu) {
  the_decider->refusal = report::Refusal::too_shallow;
  call(50);
  EXPECT_EQ(originals_, 1);
  ASSERT_EQ(the_decider->told.size(), 1u);
  const auto& [operation, observation] = the_decider->told.front();
  EXPECT_STREQ(operation.name(), "dgemm");
  EXPECT_FALSE(observation.on_device);
  EXPECT_GT(observation.seconds, 0);
  EXPECT_EQ(observation.bytes_to_device, 0u);
}

std::uint64_t calls_as_fast_on_the_cpu() {
  return report::totals().refusals[static_cast<std::size_t>(report::Refusal::cpu_faster)];
}

TEST_F(Road, SettledCallsAreCountedAndNotJudged) {
  if (report::logs_calls()) GTEST_SKIP() << "a test before this one logs: each call is seen";
  the_decider->refusal = report::Refusal::cpu_faster;
  the_decider->settled = 5;
  const std::uint64_t before = calls_as_fast_on_the_cpu();
  for (int i = 0; i < 7; ++i) {
    call(50);
    EXPECT_EQ(originals_, 1);
  }
  EXPECT_EQ(calls_as_fast_on_the_cpu() - before, 7U);
  ASSERT_EQ(the_decider->told.size(), 2U);
  EXPECT_EQ(the_decider->told.front().observation.calls, 1U);
  EXPECT_EQ(the_decider->told.back().observation.calls, 6U);
  the_decider->told.clear();
  call(51);
  EXPECT_EQ(the_decider->told.size(), 1U) << "it is not like them";
  call(50, true, true);
  EXPECT_EQ(the_decider->told.size(), 1U);
  runtime::begin_new_term();
  call(50);
  EXPECT_EQ(the_decider->told.size(), 2U) << "what they were settled by holds no longer";
  runtime::begin_new_term();
  the_decider->settled = 0;
}

TEST_F(Road, ProductsWithVectorsAreSettledWhateverTheirSizesWhileNoDeviceIsOpen) {
  if (report::logs_calls()) GTEST_SKIP() << "a test before this one logs: each call is seen";
  the_decider->refusal = report::Refusal::not_there;
  the_decider->settled = 5;
  const auto counted = [] {
    return report::totals().routines[static_cast<std::size_t>(blas::id_of(blas::Routine::dgemv))];
  };
  const auto before = counted();
  double flops = 0;
  const bool open = runtime::Process::instance().devices_in_use() != nullptr;
  for (std::int64_t n = 50; n < 57; ++n) {
    call_with_vector(n);
    EXPECT_EQ(originals_, 1);
    flops += 2.0 * static_cast<double>(n * n);
  }
  EXPECT_EQ(counted().calls - before.calls, 7U);
  EXPECT_DOUBLE_EQ(counted().flops - before.flops, flops);
  if (open) {
    EXPECT_EQ(the_decider->told.size(), 7U) << "where a product runs depends on what the device has";
  } else {
    ASSERT_EQ(the_decider->told.size(), 2U);
    EXPECT_EQ(the_decider->told.back().observation.calls, 6U);
    the_decider->refusal = report::Refusal::none;
    call(50);  // opens the device
    the_decider->refusal = report::Refusal::not_there;
    call_with_vector(50);
    EXPECT_EQ(the_decider->told.size(), 4U) << "what they were settled by holds no longer";
  }
  runtime::begin_new_term();
  the_decider->settled = 0;
}

TEST_F(Road, SmallInvalidAndTrivialCallsAreNoneOfItsBusiness) {
  call(5);
  call(50, false);
  call(50, true, true);
  EXPECT_TRUE(the_decider->told.empty());
}

TEST_F(Road, FrontEndsThatAreAddedAgainKeepTheirNumbers) {
  const std::size_t count = operation::routine_count();
  EXPECT_LE(count, operation::max_routines);
  operation::add_front_end(blas::front_end());
  EXPECT_EQ(operation::routine_count(), count);
}

TEST_F(Road, ResidencyAnswersOnceThereIsADevice) {
  the_decider->refusal = report::Refusal::none;
  call(50);
  call(50);
  ASSERT_TRUE(the_decider->estimate);
  EXPECT_EQ(the_decider->estimate->missing, 2u * 50 * 50 * 8);
}

}  // namespace
}  // namespace blastoff
