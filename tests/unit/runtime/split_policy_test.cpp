// The decision whether a call is split over several devices.
#include "runtime/split_policy.h"

#include <gtest/gtest.h>

#include "blas_front_end.h"
#include "mapped_memory.h"
#include "product_call.h"
#include "reference_blas.h"
#include "runtime/offload.h"
#include "simulated_device_set.h"

namespace {

using namespace blastoff;
using runtime::DeviceContext;
using runtime::DeviceSet;
using runtime::Placement;

/// A device on which a product of order 256 takes 8 ms, and bringing one of its matrices takes `seconds`.
const decide::MachineModel& slow_device(double seconds) {
  auto* const model = new decide::MachineModel;
  model->device_flops = 2.0 * 256 * 256 * 256 / 8e-3;
  model->from_device = 1e12;
  model->to_device = 256 * 256 * 8 / seconds;
  return *model;
}

DeviceSet& open(int count, const decide::MachineModel& model, config::SplitMode mode = config::SplitMode::automatic) {
  DeviceSet& devices = test::open_simulated(count, mode);
  devices.use(model);
  return devices;
}

/// For tests in which only the operands' places count.
class NothingComputed final : public operation::Host {
 public:
  bool can_compute(const operation::Operation&) const override { return true; }
  bool compute(const operation::Operation&) const override { return true; }
};

class SplitPolicyTest : public testing::Test {
 protected:
  SplitPolicyTest() { memory_.touch(); }

  operation::Operation product(std::int64_t n = 256) { return product(memory_, n, 256); }

  static operation::Operation product(const test::Memory& memory, std::int64_t n, std::int64_t order) {
    const auto size = static_cast<std::size_t>(order * order * 8 / 4096);
    return test::product_call({memory.page(0), memory.page(size), memory.page(2 * size)}, n, n, n, 0,
                              {order, order, order});
  }

  /// The number of parts, while there are no other calls.
  static std::size_t parts(DeviceSet& devices, const operation::Operation& operation) {
    const Placement placement = devices.take(operation);
    devices.give_back(placement, operation);
    return placement.parts.size();
  }

  static constexpr std::size_t pages = std::size_t{256} * 256 * 8 / 4096;  ///< pages of one matrix
  const test::Memory memory_{3 * pages};
};

TEST_F(SplitPolicyTest, GoesToAllDevicesInTheirOrder) {
  DeviceSet& devices = open(3, slow_device(1e-4));
  for (int round = 0; round < 2; ++round) {
    const Placement placement = devices.take(product());
    ASSERT_EQ(placement.parts.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(placement.parts[i].context, devices.all()[i]);
      EXPECT_GT(devices.all()[i]->flops_in_flight(), 0);
    }
    devices.give_back(placement, product());
    for (DeviceContext* const context : devices.all()) EXPECT_EQ(context->flops_in_flight(), 0);
  }
}

TEST_F(SplitPolicyTest, IsForCallsWithWorkForEachDevice) {
  auto* const faster = new decide::MachineModel(slow_device(1e-4));
  faster->device_flops *= 10;
  DeviceSet& devices = open(4, *faster);
  EXPECT_EQ(parts(devices, product(256)), 4U);  // a call of 0.86 ms
  EXPECT_EQ(parts(devices, product(220)), 2U);  // a call of 0.57 ms
  EXPECT_EQ(parts(devices, product(150)), 0U);  // a call of 0.22 ms
}

/// The call takes 8 ms on one device, which must bring two matrices, and 4 ms on two devices, which together must bring
/// three, or two if they copy A from each other.
TEST_F(SplitPolicyTest, IsNotForCallsWhoseMatricesTakeLonger) {
  const auto parts_if_bringing_takes = [&](double seconds, bool exchange) {
    DeviceSet& devices = open(2, slow_device(seconds));
    runtime::SplitPolicy splitting(config::SplitMode::automatic);
    splitting.use(slow_device(seconds));
    if (exchange) splitting.let_exchange();
    return splitting.parts(product(), devices.all(), devices.front()).size();
  };
  EXPECT_EQ(parts_if_bringing_takes(5e-3, false), 2U);
  EXPECT_EQ(parts_if_bringing_takes(40e-3, false), 0U);
  EXPECT_EQ(parts_if_bringing_takes(40e-3, true), 2U);
}

TEST_F(SplitPolicyTest, IsSwitchedOffAndOn) {
  EXPECT_EQ(parts(open(2, slow_device(1e-7), config::SplitMode::never), product()), 0U);
  EXPECT_EQ(parts(open(2, slow_device(10), config::SplitMode::always), product(20)), 2U);
}

TEST_F(SplitPolicyTest, IsNotForCallsThatMeetOthers) {
  DeviceSet& devices = open(2, slow_device(1e-7));
  EXPECT_EQ(parts(devices, product()), 2U);
  const Placement first = devices.take(product());
  const Placement second = devices.take(product());
  EXPECT_EQ(first.parts.size(), 2U);
  EXPECT_TRUE(second.parts.empty());
  devices.give_back(first, product());
  devices.give_back(second, product());
  EXPECT_EQ(parts(devices, product()), 0U);  // they may meet again
  for (int call = 0; call < 8; ++call) parts(devices, product());
  EXPECT_EQ(parts(devices, product()), 2U);
}

/// When the work of three concurrent calls is added and then subtracted, rounding leaves a remainder other than 0.
TEST_F(SplitPolicyTest, IsForIdleDevicesHoweverTheirWorkWasRounded) {
  DeviceSet& devices = open(2, slow_device(1e-7));
  for (DeviceContext* const context : devices.all()) {
    for (const double flops : {0.1, 0.2, 0.3}) context->begin_call(flops);
    for (const double flops : {0.1, 0.2, 0.3}) context->end_call(flops);
    EXPECT_NE(context->flops_in_flight(), 0);
  }
  EXPECT_EQ(parts(devices, product()), 2U);
}

TEST_F(SplitPolicyTest, LeavesOutDevicesThatAreLost) {
  DeviceSet& devices = open(3, slow_device(1e-7));
  devices.all()[1]->lost("a test");
  const Placement placement = devices.take(product());
  ASSERT_EQ(placement.parts.size(), 2U);
  EXPECT_EQ(placement.parts[0].context, devices.all()[0]);
  EXPECT_EQ(placement.parts[1].context, devices.all()[2]);
  devices.give_back(placement, product());
  devices.all()[0]->lost("a test");
  EXPECT_EQ(parts(devices, product()), 0U);
}

/// The first device holds all input of the call. Bringing A and half of B to the second takes 40 ms; a call gains 4 ms,
/// of which 0.8 ms are uncertain. If the second device copies from the first, bringing takes almost no time.
TEST_F(SplitPolicyTest, IsAnInvestmentWhereOneDeviceHoldsTheMatrices) {
  if (!tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  const decide::MachineModel& model = slow_device(40e-3 / 1.5);
  DeviceSet& devices = open(2, model);
  const operation::Operation operation = product();
  report::Record record;
  const reference::ReferenceRoutine host;
  ASSERT_EQ(offload(*devices.all()[0], operation, host, record), report::Refusal::none);
  EXPECT_EQ(devices.all()[0]->policies().front()->estimate(operation)->missing, 0U);
  runtime::SplitPolicy splitting(config::SplitMode::automatic);
  splitting.use(model);
  int calls = 0;
  while (splitting.parts(operation, devices.all(), devices.front()).empty() && calls < 100) ++calls;
  EXPECT_GE(calls, 5);
  EXPECT_LE(calls, 15);
  splitting.let_exchange();
  EXPECT_EQ(splitting.parts(operation, devices.all(), devices.front()).size(), 2U);
}

/// The call takes 0.45 ms on the device that holds all input, and 0.33 ms on two devices. Copying the missing input to
/// the second takes 0.21 ms.
TEST_F(SplitPolicyTest, IsAnInvestmentWhereOneDeviceCopiesMuchFromTheOther) {
  if (!tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  constexpr std::int64_t order = 960;
  const test::Memory memory{3 * std::size_t{order} * order * 8 / 4096};
  memory.touch();
  const operation::Operation operation = product(memory, order, order);
  decide::MachineModel model = slow_device(1e-3);
  model.device_flops = operation.work.flops / 0.45e-3;
  DeviceSet& devices = open(2, model);
  report::Record record;
  const NothingComputed host;
  ASSERT_EQ(offload(*devices.all()[0], operation, host, record), report::Refusal::none);
  runtime::SplitPolicy splitting(config::SplitMode::automatic);
  splitting.use(model);
  splitting.let_exchange();
  const auto parts = [&] { return splitting.parts(operation, devices.all(), devices.front()).size(); };
  EXPECT_EQ(parts(), 0U);
  int calls = 0;
  while (parts() == 0 && calls < 20) ++calls;
  EXPECT_LE(calls, 3);
}

TEST_F(SplitPolicyTest, TellsTheDecisionWhatThePartsWouldFind) {
  DeviceSet& devices = open(2, slow_device(1e-4));
  const operation::Operation operation = product();
  EXPECT_EQ(devices.estimate(operation)->missing, 1.5 * 256 * 256 * 8);  // A, and half of B
}

}  // namespace
