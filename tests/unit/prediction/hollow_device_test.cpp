// The GPU on which a trace is replayed: the times that it computes, and its other effects, which are a real GPU's.
#include "prediction/hollow_device.h"

#include <gtest/gtest.h>

#include "operation/operation.h"
#include "platform/span.h"
#include "prediction/replayed_tracker.h"

namespace blastoff::prediction {
namespace {

constexpr std::size_t megabyte = 1000000;
constexpr device::Block block = {
    .column_bytes = megabyte, .columns = 1, .host_pitch = megabyte, .device_pitch = megabyte};

class HollowDevice : public testing::Test {
 protected:
  HollowDevice() {
    machine.pinned_to_device = 1e9;
    machine.pinned_from_device = 0.5e9;
    machine.pin_seconds_per_byte = 1e-9;
    device = hollow_device(machine, clock, engines, 4 * megabyte);
    queue = std::move(*device->create_queue());
  }
  Machine machine;
  Clock clock;
  Engines engines;
  std::unique_ptr<device::Device> device;
  std::unique_ptr<device::Queue> queue;
};

TEST_F(HollowDevice, CopiesTakeTheLinksTimeAndTheProgramGoesOn) {
  ASSERT_TRUE(queue->copy_to_device(0, nullptr, block));
  ASSERT_TRUE(queue->copy_to_host(nullptr, 0, block));
  EXPECT_DOUBLE_EQ(clock.now, 0);
  ASSERT_TRUE(queue->synchronize());
  EXPECT_DOUBLE_EQ(clock.now, 0.001 + 0.002);
}

TEST_F(HollowDevice, CopiesOfTwoQueuesShareTheLink) {
  const auto other = std::move(*device->create_queue());
  ASSERT_TRUE(queue->copy_to_device(0, nullptr, block));
  ASSERT_TRUE(other->copy_to_device(0, nullptr, block));
  ASSERT_TRUE(other->copy_to_host(nullptr, 0, block));
  ASSERT_TRUE(queue->synchronize());
  EXPECT_DOUBLE_EQ(clock.now, 0.001);
  ASSERT_TRUE(other->synchronize());
  EXPECT_DOUBLE_EQ(clock.now, 0.002 + 0.002);
}

TEST_F(HollowDevice, AQueueWaitsForWhatAnotherRecorded) {
  const auto other = std::move(*device->create_queue());
  const auto event = std::move(*device->create_event());
  ASSERT_TRUE(queue->copy_to_device(0, nullptr, block));
  ASSERT_TRUE(queue->record(*event));
  ASSERT_TRUE(other->wait(*event));
  ASSERT_TRUE(other->copy_to_host(nullptr, 0, block));
  ASSERT_TRUE(other->synchronize());
  EXPECT_DOUBLE_EQ(clock.now, 0.001 + 0.002);
}

TEST_F(HollowDevice, LockingPagesTakesTheProgramsTime) {
  ASSERT_TRUE(device->properties().can_pin);
  ASSERT_TRUE(device->pin(nullptr, megabyte));
  EXPECT_DOUBLE_EQ(clock.now, 0.001);
}

TEST_F(HollowDevice, ResultsTakeLongerIntoMemoryThatNobodyHasTouched) {
  machine.file.model.from_device = 0.5e9;
  machine.first_touch_from_device = 0.25e9;
  ReplayedTracker tracker;
  const auto staging = hollow_staging(machine, clock, engines, tracker);
  constexpr std::uintptr_t host = std::uintptr_t{1} << 40;
  const residency::Transfer transfer{.host = reinterpret_cast<void*>(host), .device = 0, .block = block};
  const auto seconds = [&] {
    const double before = clock.now;
    EXPECT_TRUE((*staging->download({&transfer, 1}, *queue))->finish());
    return clock.now - before;
  };
  EXPECT_NEAR(seconds(), 0.002, 1e-9);
  tracker.lose(platform::outward_to_pages({host, host + megabyte}));
  EXPECT_NEAR(seconds(), 0.004, 1e-9);
  EXPECT_NEAR(seconds(), 0.002, 1e-9) << "its pages are there by now";
}

TEST_F(HollowDevice, HasTheMemoryThatItWasGiven) {
  const auto address = device->allocate(device::MemoryClient::copies, 3 * megabyte);
  ASSERT_TRUE(address);
  const auto more = device->allocate(device::MemoryClient::copies, 2 * megabyte);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind, device::ErrorKind::out_of_memory);
  device->free(*address);
  EXPECT_TRUE(device->allocate(device::MemoryClient::copies, 2 * megabyte));
}

/// As with cuSOLVER, page locks end at LAPACK's routines, and only there.
TEST_F(HollowDevice, LapackEndsPageLocks) {
  operation::Operation product, factorization;
  factorization.may_fail = true;
  EXPECT_FALSE(queue->copies_heap_memory(product));
  EXPECT_TRUE(queue->copies_heap_memory(factorization));
}

TEST(HollowSimulatedDevice, LocksNoPages) {
  const auto machine = simulated_machine("link=1e9", 4 * megabyte);
  ASSERT_TRUE(machine) << machine.error();
  Clock clock;
  Engines engines;
  const auto device = hollow_device(*machine, clock, engines, 4 * megabyte);
  const auto queue = std::move(*device->create_queue());
  EXPECT_FALSE(device->properties().can_pin);
  operation::Operation factorization;
  factorization.may_fail = true;
  EXPECT_FALSE(queue->copies_heap_memory(factorization));
  // It works in the calling thread.
  ASSERT_TRUE(queue->copy_to_device(0, nullptr, block));
  EXPECT_DOUBLE_EQ(clock.now, 0.001);
}

}  // namespace
}  // namespace blastoff::prediction
