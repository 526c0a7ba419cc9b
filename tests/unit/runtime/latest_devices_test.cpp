#include "runtime/latest_devices.h"

#include <gtest/gtest.h>

namespace blastoff::runtime {
namespace {

TEST(LatestDevices, AreKnownUntilOtherMatricesTakeTheirPlace) {
  LatestDevices devices;
  constexpr std::uint64_t key = 0x0123456789abcdef;
  EXPECT_FALSE(devices.of(key));
  devices.set(key, 0);
  EXPECT_EQ(devices.of(key), 0U);
  devices.set(key, 15);
  EXPECT_EQ(devices.of(key), 15U);
  EXPECT_FALSE(devices.of(key + 0x100));
  EXPECT_FALSE(devices.of(0));
  devices.set(key + 0x100, 1);
  EXPECT_FALSE(devices.of(key));
  EXPECT_EQ(devices.of(key + 0x100), 1U);
  devices.set(0, 2);
  EXPECT_EQ(devices.of(0), 2U);
  EXPECT_EQ(devices.of(key + 0x100), 1U);
}

}  // namespace
}  // namespace blastoff::runtime
