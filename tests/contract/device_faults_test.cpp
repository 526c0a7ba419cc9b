// The simulated device fails where it is told to, and detects errors that would break a GPU's work.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "device_fixture.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff::test {
namespace {

using device::ErrorKind;
using device::MemoryClient;

std::unique_ptr<device::Device> open_simulated(const std::string& fault, std::size_t memory = std::size_t{64} << 20) {
  device::Choice choice;
  choice.name = "simulated";
  choice.simulated_memory = memory;
  choice.simulated_fault = fault;
  auto opened = device::open(choice);
  EXPECT_OK(opened);
  return opened ? std::move(*opened) : nullptr;
}

/// Performs every operation once. Returns the names of the operations that failed, in order.
std::vector<std::string> failures_of_one_round(device::Device& device, ErrorKind kind) {
  std::vector<std::string> failed;
  const auto note = [&](const char* name, const auto& result) {
    if (result) return;
    failed.emplace_back(name);
    EXPECT_EQ(result.error().kind, kind) << result.error().message;
  };
  const reference::ReferenceRoutine host;
  auto address = device.allocate(MemoryClient::copies, 4096);
  note("allocate", address);
  auto reserved = device.reserve(std::size_t{4} << 20);
  note("reserve", reserved);
  if (reserved) {
    const auto backed = device.back(MemoryClient::mirrors, *reserved, std::size_t{2} << 20);
    note("back", backed);
    if (backed) device.unback(*reserved, std::size_t{2} << 20);
    device.release(*reserved, std::size_t{4} << 20);
  }
  auto staging = device.allocate_staging(4096);
  note("staging", staging);
  auto queue = device.create_queue();
  note("queue", queue);
  auto event = device.create_event();
  note("event", event);
  if (queue && event && address) {
    Bytes bytes(64);
    note("to-device", (*queue)->copy_to_device(*address, bytes.data(), run_of(64)));
    note("to-host", (*queue)->copy_to_host(bytes.data(), *address, run_of(64)));
    const TestCall test(blas::Routine::dgemm, {}, 1, 1, 1, 1, 0);
    blas::Call call = test.call();
    for (auto& operand : call.operands())
      operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(*address));
    note("execute", (*queue)->execute(call, host));
    note("record", (*queue)->record(**event));
    note("wait", (*queue)->wait(**event));
    note("synchronize", (*queue)->synchronize());
  }
  if (address) device.free(*address);
  if (staging) device.free_staging(*staging, 4096);
  return failed;
}

const char* const operations[] = {"allocate",  "reserve", "back",    "staging", "queue", "event",
                                  "to-device", "to-host", "execute", "record",  "wait",  "synchronize"};

TEST(SimulatedFaults, WithoutOneNothingFails) {
  const auto device = open_simulated("");
  EXPECT_TRUE(failures_of_one_round(*device, ErrorKind::lost).empty());
}

TEST(SimulatedFaults, WantOfMemoryStrikesOnceAtTheNumberGiven) {
  for (const std::string operation : operations) {
    const auto device = open_simulated(operation + ":2:memory");
    EXPECT_TRUE(failures_of_one_round(*device, ErrorKind::out_of_memory).empty()) << operation;
    EXPECT_EQ(failures_of_one_round(*device, ErrorKind::out_of_memory), std::vector{operation});
    EXPECT_TRUE(failures_of_one_round(*device, ErrorKind::out_of_memory).empty()) << operation;
  }
}

TEST(SimulatedFaults, ALostDeviceFailsForGood) {
  for (const std::string operation : operations) {
    const auto device = open_simulated(operation + ":1:lost");
    const auto failed = failures_of_one_round(*device, ErrorKind::lost);
    ASSERT_FALSE(failed.empty()) << operation;
    EXPECT_EQ(failed.front(), operation);
    const auto later = failures_of_one_round(*device, ErrorKind::lost);
    EXPECT_EQ(later, (std::vector<std::string>{"allocate", "reserve", "staging", "queue", "event"})) << operation;
  }
}

TEST(SimulatedFaults, AThirdPartIsNotNeeded) {
  const auto device = open_simulated("event:1");
  const auto failed = device->create_event();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::lost);
}

TEST(SimulatedFaults, BadTextIsRefusedInOneLineThatSaysWhatIsAccepted) {
  for (const char* text : {"explode:1", "back", "back:", "back:0", "back:-1", "back:x", "back:1:sometimes",
                           "back:1:lost:x", "back:1:wrong", ":1"}) {
    device::Choice choice;
    choice.name = "simulated";
    choice.simulated_fault = text;
    const auto opened = device::open(choice);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
    EXPECT_NE(opened.error().message.find("to-device"), std::string::npos);
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

TEST(SimulatedFaults, OneNumberOfAResultIsWrong) {
  const auto device = open_simulated("execute:2:wrong");
  const auto queue = *device->create_queue();
  const TestCall test(blas::Routine::dgemm, {}, 6, 5, 4, 1, 0);
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  blas::Call call = test.call();
  for (auto& operand : call.operands()) {
    memory.push_back(std::make_unique<DeviceMemory>(*device, operand.span_bytes()));
    const auto* const bytes = static_cast<const unsigned char*>(operand.address);
    upload(*queue, memory.back()->address(), Bytes(bytes, bytes + operand.span_bytes()));
    operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.back()->address()));
  }
  std::vector<Bytes> results;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(queue->execute(call, reference::ReferenceRoutine()));
    results.push_back(download(*queue, memory.back()->address(), call.result().span_bytes()));
  }
  EXPECT_EQ(results[0], results[2]);
  std::size_t different = 0;
  for (std::size_t i = 0; i < results[0].size(); ++i) different += results[0][i] != results[1][i] ? 1 : 0;
  EXPECT_EQ(different, 1U);
}

TEST(SimulatedFaults, ACopyOfALostDeviceIsTorn) {
  const auto device = open_simulated("to-host:2");
  const auto queue = *device->create_queue();
  const auto address = *device->allocate(MemoryClient::copies, 4096);
  upload(*queue, address, Bytes(4096, 1));
  Bytes host(4096, 2);
  ASSERT_OK(queue->copy_to_host(host.data(), address, run_of(1024)));
  EXPECT_EQ(host[0], 1);
  EXPECT_FALSE(queue->copy_to_host(host.data() + 1024, address, {512, 4, 512, 512}));
  EXPECT_NE(host[1024], 2) << "begun";
  EXPECT_EQ(host[1024 + 2047], 2) << "not finished";
}

TEST(SimulatedMemory, FreshMemoryHoldsNaN) {
  const auto device = open_simulated("");
  const auto queue = *device->create_queue();
  const auto reserved = *device->reserve(std::size_t{2} << 20);
  const auto expect_nan = [&](device::Address address, std::size_t bytes) {
    const Bytes content = download(*queue, address, bytes);
    for (std::size_t offset = 0; offset < bytes; offset += 8) {
      double number = 0;
      float single = 0;
      std::memcpy(&number, &content[offset], sizeof number);
      std::memcpy(&single, &content[offset + 4], sizeof single);
      if (!std::isnan(number) || !std::isnan(single)) FAIL() << "at byte " << offset;
    }
  };
  expect_nan(*device->allocate(MemoryClient::copies, 10000), 10000);
  for (int round = 0; round < 2; ++round) {
    ASSERT_OK(device->back(MemoryClient::mirrors, reserved, std::size_t{2} << 20));
    expect_nan(reserved, std::size_t{2} << 20);
    upload(*queue, reserved, Bytes(std::size_t{2} << 20, 0));
    device->unback(reserved, std::size_t{2} << 20);
  }
}

TEST(SimulatedMemory, EndsWhereItWasToldTo) {
  const auto device = open_simulated("", std::size_t{8} << 20);
  EXPECT_EQ(device->memory_info()->total, std::size_t{8} << 20);
  const auto first = device->allocate(MemoryClient::copies, std::size_t{5} << 20);
  ASSERT_OK(first);
  const auto reserved = *device->reserve(std::size_t{64} << 20);
  EXPECT_EQ(device->back(MemoryClient::mirrors, reserved, std::size_t{4} << 20).error().kind, ErrorKind::out_of_memory);
  ASSERT_OK(device->back(MemoryClient::mirrors, reserved, std::size_t{2} << 20));
  EXPECT_EQ(device->allocate(MemoryClient::copies, std::size_t{2} << 20).error().kind, ErrorKind::out_of_memory);
  device->free(*first);
  EXPECT_OK(device->back(MemoryClient::mirrors, reserved + (std::size_t{2} << 20), std::size_t{6} << 20));
  EXPECT_EQ(device->memory_info()->free, 0U);
}

TEST(SimulatedMemoryDeathTest, WhatWasGivenBackCannotBeTouched) {
  const auto device = open_simulated("");
  const auto touch = [](device::Address address) {
    *reinterpret_cast<volatile char*>(static_cast<std::uintptr_t>(address)) = 1;
  };
  const auto allocated = *device->allocate(MemoryClient::copies, 4096);
  const auto reserved = *device->reserve(std::size_t{4} << 20);
  EXPECT_DEATH(touch(reserved), "");
  ASSERT_OK(device->back(MemoryClient::mirrors, reserved, std::size_t{2} << 20));
  touch(reserved);
  touch(allocated);
  device->unback(reserved, std::size_t{2} << 20);
  device->free(allocated);
  EXPECT_DEATH(touch(reserved), "");
  EXPECT_DEATH(touch(allocated), "");
}

TEST(SimulatedMemory, ACopyOutsideItLosesTheDevice) {
  for (const int which : {0, 1, 2}) {
    const auto device = open_simulated("");
    const auto queue = *device->create_queue();
    const auto address = *device->allocate(MemoryClient::copies, 4000);
    const auto reserved = *device->reserve(std::size_t{4} << 20);
    ASSERT_OK(device->back(MemoryClient::mirrors, reserved, std::size_t{2} << 20));
    Bytes host(8192);
    device::Status status;
    if (which == 0) status = queue->copy_to_device(address, host.data(), run_of(4001));
    if (which == 1) status = queue->copy_to_host(host.data(), reserved + (std::size_t{2} << 20) - 8, run_of(16));
    if (which == 2) status = queue->copy_to_host(host.data(), address - 8, {8, 2, 8, 16});
    ASSERT_FALSE(status) << which;
    EXPECT_EQ(status.error().kind, ErrorKind::lost);
    EXPECT_FALSE(queue->synchronize());
  }
}

TEST(SimulatedMemory, AnOperandOutsideItLosesTheDevice) {
  const auto device = open_simulated("");
  const auto queue = *device->create_queue();
  const TestCall test(blas::Routine::dgemm, {}, 4, 4, 4, 1, 0);
  const reference::ReferenceRoutine host;
  EXPECT_EQ(queue->execute(test.call(), host).error().kind, ErrorKind::lost)
      << "host addresses are not device addresses";
}

TEST(SimulatedMemory, GivingBackWhatOneDoesNotHoldLosesTheDevice) {
  for (const int which : {0, 1, 2, 3}) {
    const auto device = open_simulated("");
    const auto reserved = *device->reserve(std::size_t{8} << 20);
    ASSERT_OK(device->back(MemoryClient::mirrors, reserved, std::size_t{4} << 20));
    if (which == 0) device->free(reserved);
    if (which == 1) device->unback(reserved, std::size_t{2} << 20);
    if (which == 2) device->release(reserved, std::size_t{4} << 20);
    if (which == 3) device->release(reserved, std::size_t{8} << 20);  // a part of it is still backed
    EXPECT_EQ(device->allocate(MemoryClient::copies, 8).error().kind, ErrorKind::lost) << which;
  }
}

TEST(SimulatedMemory, BackingWhatIsBackedOrOutsideIsRefused) {
  const auto device = open_simulated("");
  constexpr std::size_t unit = std::size_t{2} << 20;
  const auto reserved = *device->reserve(8 * unit);
  ASSERT_OK(device->back(MemoryClient::mirrors, reserved + unit, 2 * unit));
  for (const auto& [offset, bytes] :
       {std::pair{unit, unit}, std::pair{2 * unit, unit}, std::pair{std::size_t{0}, 2 * unit},
        std::pair{3 * unit, unit / 2}, std::pair{7 * unit, 2 * unit}}) {
    EXPECT_EQ(device->back(MemoryClient::mirrors, reserved + offset, bytes).error().kind, ErrorKind::unsupported)
        << offset << " " << bytes;
  }
  EXPECT_OK(device->back(MemoryClient::mirrors, reserved, unit));
  EXPECT_OK(device->back(MemoryClient::mirrors, reserved + 3 * unit, unit));
}

}  // namespace
}  // namespace blastoff::test
