#include "runtime/closing.h"

#include <gtest/gtest.h>

#include "simulated_device_set.h"

namespace {

using namespace blastoff;
using namespace std::chrono_literals;
using runtime::may_close_later;

TEST(Closing, AShortProgramLeavesItForLater) {
  const runtime::DeviceSet& devices = support::open_simulated(2, config::SplitMode::never);
  EXPECT_TRUE(may_close_later(devices, 1s));
  EXPECT_FALSE(may_close_later(devices, 31s));
}

TEST(Closing, NotADeviceThatIsLost) {
  const runtime::DeviceSet& devices = support::open_simulated(2, config::SplitMode::never);
  devices.all().back()->lost("for a test");
  EXPECT_FALSE(may_close_later(devices, 1s));
}

TEST(Closing, NotADeviceOfWhichMuchIsHeld) {
  const runtime::DeviceSet& devices = support::open_simulated(2, config::SplitMode::never);
  device::Device& device = devices.all().back()->device();
  const std::size_t quarter = device.properties().total_memory / 4;
  const auto held = device.allocate(device::MemoryClient::blocks, quarter / 2);
  ASSERT_TRUE(held);
  EXPECT_TRUE(may_close_later(devices, 1s));
  const auto more = device.allocate(device::MemoryClient::blocks, quarter);
  ASSERT_TRUE(more);
  EXPECT_FALSE(may_close_later(devices, 1s));
  device.free(*held);
  device.free(*more);
  EXPECT_TRUE(may_close_later(devices, 1s));
}

}  // namespace
