// One call on several devices gives the same results as on one, whatever fails.
#include "runtime/split.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "blas_front_end.h"
#include "every_routine.h"
#include "reference_blas.h"
#include "simulated_device_set.h"
#include "test_call.h"

namespace {

using namespace blastoff;
using report::Refusal;
using runtime::DeviceSet;
using runtime::Placement;

DeviceSet& open(int count, const std::string& fault = "") {
  return test::open_simulated(count, config::SplitMode::always, fault);
}

struct Outcome {
  Refusal refusal;
  report::Record record;
  std::size_t parts;
};

Outcome run(DeviceSet& devices, const blas::Call& call, const operation::Host& host) {
  const operation::Operation operation = call;
  const Placement placement = devices.take(operation);
  Outcome outcome{Refusal::none, {}, placement.parts.size()};
  double seconds = 0;
  outcome.refusal = offload_parts(placement.parts, devices.all(), host, devices.team(), outcome.record, seconds);
  devices.give_back(placement, operation);
  EXPECT_GT(seconds + (outcome.refusal != Refusal::none), 0);
  return outcome;
}

const reference::ReferenceRoutine host;

class SplitCalls : public testing::TestWithParam<blas::Routine> {};

TEST_P(SplitCalls, IsRightOnSeveralDevices) {
  if (is_matrix_vector(row(GetParam()).kind)) return;
  for (const int count : {2, 3, 4}) {
    DeviceSet& devices = open(count);
    for (const test::Options& options : test::all_options(GetParam())) {
      for (const blas::Coefficient beta : {blas::Coefficient(1.2, 0.4), blas::Coefficient(0)}) {
        const test::TestCall made(GetParam(), options, 60, 70, 50, {0.7, -0.3}, beta);
        SCOPED_TRACE(test::describe(made.call()));
        auto expected = made.result();
        auto found = made.result();
        reference::compute(made.with_result(expected));
        const Outcome outcome = run(devices, made.with_result(found), host);
        EXPECT_EQ(outcome.refusal, Refusal::none);
        EXPECT_EQ(outcome.parts, static_cast<std::size_t>(count));
        EXPECT_EQ(outcome.record.parts, count);
        EXPECT_GT(outcome.record.traffic.bytes_to_device, 0U);
        EXPECT_LE(made.difference(found, expected), test::rounding);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SplitCalls, testing::ValuesIn(test::every_routine()), test::routine_name);

test::Options lower() {
  test::Options options;
  options.uplo = blas::Uplo::lower;
  return options;
}

// Each part of syr2k consists of several operations, each of which can fail.
class SplitFaults : public testing::TestWithParam<std::string> {};

TEST_P(SplitFaults, LeaveTheResultRight) {
  for (const blas::Routine routine : {blas::Routine::dgemm, blas::Routine::dsyr2k, blas::Routine::dtrsm}) {
    for (const int device : {0, 1, 2}) {
      DeviceSet& devices = open(3, std::to_string(device) + "/" + GetParam());
      for (int round = 0; round < 3; ++round) {
        const test::TestCall made(routine, lower(), 60, 70, 50, 0.7, 1.2, static_cast<std::uint64_t>(round));
        auto expected = made.result();
        auto found = made.result();
        reference::compute(made.with_result(expected));
        EXPECT_EQ(run(devices, made.with_result(found), host).refusal, Refusal::none);
        EXPECT_LE(made.difference(found, expected), test::rounding) << "device " << device << " round " << round;
      }
      const bool lost = GetParam().ends_with("lost");
      EXPECT_EQ(devices.all()[static_cast<std::size_t>(device)]->working(), !lost) << "the fault has not struck";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfOneDevice, SplitFaults,
                         testing::Values("execute:1:lost", "execute:2:lost", "execute:1:memory", "to-device:1:lost",
                                         "to-device:3:lost", "to-host:1:lost", "to-host:2:lost", "to-host:1:memory",
                                         "synchronize:2:lost", "record:1:lost", "wait:1:lost", "queue:2:lost",
                                         "reserve:1:memory", "back:1:memory"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           for (char& letter : name)
                             if (letter == ':' || letter == '-') letter = '_';
                           return name;
                         });

TEST(Split, IsRefusedWithIntactOperandsWhereNoDeviceWorks) {
  DeviceSet& devices = open(3, "execute:1:lost");
  const test::TestCall made(blas::Routine::dgemm, {}, 60, 70, 50, 0.7, 1.2);
  const auto before = made.result();
  auto found = made.result();
  EXPECT_EQ(run(devices, made.with_result(found), host).refusal, Refusal::device_lost);
  EXPECT_EQ(found, before);
  EXPECT_FALSE(devices.working());
  EXPECT_EQ(devices.take(made.call()).context, nullptr);
}

TEST(Split, IsCompletedByTheHostWhereNoOtherDeviceTakesOver) {
  DeviceSet& devices = open(2, "1/execute:1:lost");
  const test::TestCall made(blas::Routine::dgemm, {}, 60, 70, 50, 0.7, 1.2);
  auto expected = made.result();
  auto found = made.result();
  reference::compute(made.with_result(expected));
  const blas::Call call = made.with_result(found);
  const operation::Operation operation = call;
  const Placement placement = devices.take(operation);
  runtime::DeviceContext* const only_one[] = {placement.parts[1].context};  // no other device can take over
  report::Record record;
  double seconds = 0;
  EXPECT_EQ(offload_parts(placement.parts, only_one, host, devices.team(), record, seconds), Refusal::none);
  EXPECT_FALSE(placement.parts[1].context->working());
  EXPECT_LE(made.difference(found, expected), test::rounding);
}

TEST(Split, FindsOnEachDeviceWhatItHasLeftThere) {
  if (!tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  DeviceSet& devices = open(3);
  const test::TestCall made(blas::Routine::dgemm, {}, 300, 300, 300, 0.7, 0);
  auto found = made.result();
  const blas::Call call = made.with_result(found);
  const Outcome first = run(devices, call, host);
  const Outcome second = run(devices, call, host);
  EXPECT_GE(first.record.traffic.bytes_to_device, 4U * 300 * 300 * 8);  // A three times, B once
  EXPECT_LE(second.record.traffic.bytes_to_device, 9U * 4096);          // pages that parts share
  for (runtime::DeviceContext* const context : devices.all()) {
    const report::DeviceUse use = context->use();
    EXPECT_EQ(use.calls, 0U);
    EXPECT_EQ(use.parts, 2U);
    EXPECT_NEAR(use.flops, 2 * flops(call) / 3, 0.1 * flops(call));
  }
}

/// A, of 2.9 MB, goes to each device, from the host or from another device, depending on the time at which the threads
/// run.
TEST(Split, CountsWhatDevicesCopyFromEachOther) {
  constexpr std::int64_t n = 600;
  constexpr std::uint64_t matrix = std::uint64_t{n} * n * 8;
  const test::TestCall made(blas::Routine::dgemm, {}, n, n, n, 0.7, 0);
  auto expected = made.result();
  auto found = made.result();
  reference::compute(made.with_result(expected));
  DeviceSet& devices = open(2);
  const report::Record record = run(devices, made.with_result(found), host).record;
  EXPECT_LE(made.difference(found, expected), test::rounding);
  EXPECT_GE(record.traffic.bytes_to_device + record.traffic.bytes_between_devices, 3 * matrix);
  std::uint64_t between = 0;
  for (runtime::DeviceContext* const context : devices.all()) between += context->use().traffic.bytes_between_devices;
  EXPECT_EQ(between, record.traffic.bytes_between_devices);
}

/// Failures of copies between devices, and of the operations before and after them.
TEST(Split, IsRightWhateverFailsBetweenDevices) {
  constexpr std::int64_t n = 400;  // each part lacks more than a MiB
  const test::TestCall made[] = {{blas::Routine::dgemm, lower(), n, n, n, 0.7, 0},
                                 {blas::Routine::dtrsm, lower(), n, n, n, 0.7, 0}};
  std::vector<std::byte> expected[] = {made[0].result(), made[1].result()};
  for (const std::size_t i : {0, 1}) reference::compute(made[i].with_result(expected[i]));
  int number = 0;
  for (const char* fault :
       {"between:1:lost", "between:2:lost", "between:3:lost", "between:2:unsupported", "to-device:4:lost",
        "to-device:9:lost", "synchronize:3:lost", "synchronize:6:lost", "back:1:memory"}) {
    const std::string where = std::to_string(++number % 3) + "/" + fault;
    SCOPED_TRACE(where);
    DeviceSet& devices = open(3, where);
    for (const std::size_t i : {0, 1}) {
      auto found = made[i].result();
      EXPECT_EQ(run(devices, made[i].with_result(found), host).refusal, Refusal::none);
      EXPECT_LE(made[i].difference(found, expected[i]), test::rounding);
    }
  }
}

}  // namespace
