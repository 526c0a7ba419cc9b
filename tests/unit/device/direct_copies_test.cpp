// The pairs of devices between which copies are direct, and when direct copies are tried.
#include "device/direct_copies.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device/open.h"

namespace blastoff::device {
namespace {

class DirectCopiesTest : public testing::Test {
 protected:
  static std::unique_ptr<Device> open_one(const std::string& fault = "") {
    Choice choice;
    choice.name = "simulated";
    choice.simulated_memory = memory_bytes;
    choice.simulated_fault = fault;
    auto opened = open(choice);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  /// Allocates all of a device's memory.
  static Address fill(Device& device) {
    std::size_t bytes = memory_bytes;
    auto taken = device.allocate(MemoryClient::workspaces, bytes);
    while (!taken && bytes > 0) taken = device.allocate(MemoryClient::workspaces, bytes -= 4096);
    EXPECT_TRUE(taken);
    return *taken;
  }

  static constexpr std::size_t memory_bytes = std::size_t{4} << 20;
  DirectCopies copies_;
};

TEST_F(DirectCopiesTest, ArePossibleWhereTheFirstOneArrives) {
  const auto to = open_one();
  const auto from = open_one();
  EXPECT_TRUE(copies_.possible(*to, *from));
  const Address all = fill(*to);
  EXPECT_TRUE(copies_.possible(*to, *from)) << "it was tried before";
  to->free(all);
}

TEST_F(DirectCopiesTest, AreTriedAgainWhenMemoryWasShort) {
  const auto to = open_one();
  const auto from = open_one();
  const Address all = fill(*to);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(copies_.possible(*to, *from));
  to->free(all);
  EXPECT_TRUE(copies_.possible(*to, *from));
}

TEST_F(DirectCopiesTest, AreNotTriedForEver) {
  const auto to = open_one();
  const auto from = open_one();
  const Address all = fill(*to);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(copies_.possible(*to, *from));
  to->free(all);
  EXPECT_FALSE(copies_.possible(*to, *from));
  EXPECT_TRUE(copies_.possible(*from, *to)) << "the other way is another question";
  copies_.forget(*to);
  EXPECT_TRUE(copies_.possible(*to, *from));
}

TEST_F(DirectCopiesTest, AreNotPossibleWhereTheDeviceRefuses) {
  const auto to = open_one("between:1:unsupported");
  const auto from = open_one();
  EXPECT_FALSE(copies_.possible(*to, *from));
  EXPECT_FALSE(copies_.possible(*to, *from));
}

}  // namespace
}  // namespace blastoff::device
