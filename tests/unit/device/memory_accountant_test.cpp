// The users of device memory, and the limit of each.
#include "device/memory_accountant.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace blastoff::device {
namespace {

class MemoryAccountantTest : public testing::Test {
 protected:
  Result<Address> allocate(MemoryClient client, std::size_t bytes) {
    return accountant_.charge(client, bytes, [&]() -> Result<Address> { return ++last_; });
  }
  Result<Address> fail(MemoryClient client, std::size_t bytes) {
    return accountant_.charge(client, bytes, []() -> Result<Address> {
      return tl::unexpected(Error{ErrorKind::out_of_memory, "the device is full"});
    });
  }
  std::size_t now(MemoryClient client) const { return accountant_.held(client).now; }
  std::size_t most(MemoryClient client) const { return accountant_.held(client).most; }

  MemoryAccountant accountant_;
  std::atomic<Address> last_{0};
};

TEST_F(MemoryAccountantTest, EachClientHasAnAccount) {
  const auto first = allocate(MemoryClient::mirrors, 100);
  const auto second = allocate(MemoryClient::mirrors, 20);
  const auto other = allocate(MemoryClient::workspaces, 7);
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ(now(MemoryClient::mirrors), 120U);
  EXPECT_EQ(now(MemoryClient::workspaces), 7U);
  EXPECT_EQ(now(MemoryClient::copies), 0U);
  accountant_.discharge(*first);
  EXPECT_EQ(now(MemoryClient::mirrors), 20U);
  EXPECT_EQ(most(MemoryClient::mirrors), 120U);
  EXPECT_EQ(most(MemoryClient::workspaces), 7U);
}

TEST_F(MemoryAccountantTest, WhatIsHeldShowsInAGauge) {
  const auto before = allocate(MemoryClient::mirrors, 100);
  accountant_.lock(PageLocked::staged, 8);
  platform::MemoryGauge gauge{};
  gauge.device = 1000;  // another device's memory
  accountant_.show_in(gauge);
  EXPECT_EQ(gauge.device, 1100U);
  EXPECT_EQ(gauge.mirrored, 100U);
  EXPECT_EQ(gauge.staged, 8U);
  const auto copy = allocate(MemoryClient::copies, 20);
  accountant_.lock(PageLocked::pinned, 64);
  EXPECT_FALSE(fail(MemoryClient::mirrors, 7));
  EXPECT_EQ(gauge.device, 1120U);
  EXPECT_EQ(gauge.mirrored, 100U);
  EXPECT_EQ(gauge.pinned, 64U);
  accountant_.discharge(*before);
  accountant_.discharge(*copy);
  accountant_.unlock(PageLocked::staged, 8);
  accountant_.unlock(PageLocked::pinned, 64);
  EXPECT_EQ(gauge.device, 1000U);
  EXPECT_EQ(gauge.mirrored, 0U);
  EXPECT_EQ(gauge.pinned, 0U);
  EXPECT_EQ(gauge.staged, 0U);
}

TEST_F(MemoryAccountantTest, WhatTheDeviceRefusesIsNotHeld) {
  const auto refused = fail(MemoryClient::copies, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the device is full");
  EXPECT_EQ(now(MemoryClient::copies), 0U);
  EXPECT_EQ(most(MemoryClient::copies), 0U);
}

TEST_F(MemoryAccountantTest, BeyondItsBudgetAClientIsOutOfMemoryAndTheDeviceIsNotAsked) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  accountant_.limit(MemoryClient::mirrors, 16 * mebibyte);
  ASSERT_TRUE(allocate(MemoryClient::mirrors, 5 * mebibyte));
  EXPECT_TRUE(accountant_.fits(MemoryClient::mirrors, 11 * mebibyte));
  EXPECT_FALSE(accountant_.fits(MemoryClient::mirrors, 11 * mebibyte + 1));
  EXPECT_TRUE(accountant_.fits(MemoryClient::copies, 100 * mebibyte));
  const Address before = last_;
  const auto refused = allocate(MemoryClient::mirrors, 12 * mebibyte);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(refused.error().message, "mirrors need 12.6 MB beside 5.24 MB in use, the budget is 16.8 MB");
  EXPECT_EQ(last_, before);
  EXPECT_TRUE(allocate(MemoryClient::mirrors, 11 * mebibyte));
}

TEST_F(MemoryAccountantTest, ALowerBudgetTakesNothingAway) {
  ASSERT_TRUE(allocate(MemoryClient::copies, 100));
  accountant_.limit(MemoryClient::copies, 50);
  EXPECT_EQ(now(MemoryClient::copies), 100U);
  EXPECT_FALSE(accountant_.fits(MemoryClient::copies, 1));
}

TEST_F(MemoryAccountantTest, AnAddressThatWasNeverChargedIsIgnored) {
  ASSERT_TRUE(allocate(MemoryClient::copies, 100));
  accountant_.discharge(4711);
  EXPECT_EQ(now(MemoryClient::copies), 100U);
}

TEST_F(MemoryAccountantTest, ThreadsStayWithinABudgetTogether) {
  constexpr std::size_t budget = 100;
  accountant_.limit(MemoryClient::workspaces, budget);
  std::vector<std::thread> threads;
  for (std::size_t bytes : {30, 40, 50, 60}) {
    threads.emplace_back([&, bytes] {
      for (int i = 0; i < 2000; ++i)
        if (const auto address = allocate(MemoryClient::workspaces, bytes)) accountant_.discharge(*address);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(now(MemoryClient::workspaces), 0U);
  EXPECT_LE(most(MemoryClient::workspaces), budget);
  EXPECT_GT(most(MemoryClient::workspaces), 0U);
}

}  // namespace
}  // namespace blastoff::device
