#include "device/simulated/clock.h"

#include <gtest/gtest.h>

#include <array>

#include "device/open.h"

namespace blastoff::device::simulated {
namespace {

TEST(SimulatedClock, ItsRatesAreRead) {
  EXPECT_FALSE(*parse_rates(""));
  EXPECT_EQ((*parse_rates("default"))->link, Rates().link);
  const auto rates = parse_rates("link=5e10,cpu=1e9,launch=0");
  ASSERT_TRUE(rates && *rates);
  EXPECT_EQ((*rates)->link, 5e10);
  EXPECT_EQ((*rates)->cpu, 1e9);
  EXPECT_EQ((*rates)->launch, 0);
  EXPECT_EQ((*rates)->device, Rates().device);
  for (const char* wrong : {"link", "link=", "link=0", "link=-1", "link=fast", "link=1e9x", "speed=1", "link=inf",
                            "link=nan", "start=-1", "link=1e9 ,cpu=1"})
    EXPECT_FALSE(parse_rates(wrong)) << wrong;
}

Result<std::unique_ptr<Device>> open_with(const std::string& rates) {
  Choice choice;
  choice.name = "simulated";
  choice.simulated_rates = rates;
  return device::open(choice);
}

TEST(SimulatedClock, CountsOpeningAndCopies) {
  auto device = open_with("link=1e6,start=2");
  ASSERT_TRUE(device);
  EXPECT_EQ((*device)->own_time()->total, 2);
  std::array<char, 1000> bytes{};
  const auto there = (*device)->allocate(MemoryClient::copies, bytes.size());
  auto queue = (*device)->create_queue();
  ASSERT_TRUE(there && queue);
  const Block block{.column_bytes = 100, .columns = 10, .host_pitch = 100, .device_pitch = 100};
  ASSERT_TRUE((*queue)->copy_to_device(*there, bytes.data(), block));
  EXPECT_NEAR((*device)->own_time()->total, 2.001, 1e-9);
  ASSERT_TRUE((*queue)->copy_to_host(bytes.data(), *there, block));
  EXPECT_NEAR((*device)->own_time()->total, 2.002, 1e-9);
  EXPECT_NEAR((*device)->own_time()->copying, 0.002, 1e-9);
  (*device)->free(*there);
}

TEST(SimulatedClock, RealTimeCountsWithoutRates) {
  const auto device = open_with("");
  ASSERT_TRUE(device);
  EXPECT_FALSE((*device)->own_time());
  const auto refused = open_with("fast");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("simulated rates \"fast\" not understood"), std::string::npos);
}

}  // namespace
}  // namespace blastoff::device::simulated
