#include "allocator/block_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

namespace blastoff::allocator {
namespace {

const void* at(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

class BlockTableTest : public testing::Test {
 protected:
  // The library's table is static and all zeros; a table is too large for a stack.
  std::unique_ptr<BlockTable> table = std::make_unique<BlockTable>();
};

TEST_F(BlockTableTest, IsEmptyAtFirst) {
  EXPECT_EQ(table->find(nullptr), 0U);
  EXPECT_EQ(table->remove(nullptr), 0U);
  EXPECT_EQ(table->find(at(granule)), 0U);
  EXPECT_EQ(table->remove(at(0x7fff'ffff'0000)), 0U);
}

TEST_F(BlockTableTest, FindsExactlyTheBeginningOfABlock) {
  const std::uintptr_t begin = 0x7f12'3456'0000;
  ASSERT_TRUE(table->insert(at(begin), 4 * granule));
  EXPECT_EQ(table->find(at(begin)), 4 * granule);
  for (const std::uintptr_t other : {begin + 16, begin + 4096, begin + granule, begin - granule, begin + (1UL << 32)})
    EXPECT_EQ(table->find(at(other)), 0U) << std::hex << other;
}

TEST_F(BlockTableTest, ForgetsABlockOnce) {
  ASSERT_TRUE(table->insert(at(granule), 123));
  EXPECT_EQ(table->remove(at(granule)), 123U);
  EXPECT_EQ(table->remove(at(granule)), 0U);
  EXPECT_EQ(table->find(at(granule)), 0U);
}

TEST_F(BlockTableTest, TakesTheNewSize) {
  ASSERT_TRUE(table->insert(at(granule), 1));
  ASSERT_TRUE(table->insert(at(granule), 2));
  EXPECT_EQ(table->find(at(granule)), 2U);
}

TEST_F(BlockTableTest, CoversTheAddressesThatTheKernelGivesOutAndNoOthers) {
  const std::uintptr_t last = (std::uintptr_t{1} << 48) - granule;
  EXPECT_TRUE(table->insert(at(last), 7));
  EXPECT_EQ(table->find(at(last)), 7U);
  const std::uintptr_t beyond = std::uintptr_t{1} << 48;
  EXPECT_FALSE(table->insert(at(beyond), 7));
  EXPECT_EQ(table->find(at(beyond)), 0U);
  EXPECT_EQ(table->find(at(~std::uintptr_t{0} - granule + 1)), 0U);
}

TEST_F(BlockTableTest, AgreesWithAMap) {
  std::mt19937_64 random(7);
  std::unordered_map<std::uintptr_t, std::size_t> expected;
  for (int step = 0; step < 200'000; ++step) {
    // Few leaves, with few granules in each, so that most addresses are repeated.
    const std::uintptr_t address = (random() % 5 << 32) + random() % 512 * granule;
    const auto known = expected.find(address);
    const std::size_t bytes = known == expected.end() ? 0 : known->second;
    switch (random() % 3) {
      case 0:
        expected[address] = 1 + random() % 1000;
        ASSERT_TRUE(table->insert(at(address), expected[address]));
        break;
      case 1:
        ASSERT_EQ(table->remove(at(address)), bytes);
        expected.erase(address);
        break;
      default: ASSERT_EQ(table->find(at(address)), bytes);
    }
  }
}

/// The threads begin in the same empty leaves, and each owns some of the granules, as threads own blocks.
TEST_F(BlockTableTest, ThreadsDoNotDisturbEachOther) {
  constexpr int threads = 8;
  std::atomic<int> wrong{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      ++ready;
      while (ready < threads) std::this_thread::yield();
      for (std::uintptr_t round = 0; round < 20'000; ++round) {
        const std::uintptr_t address = (round % 64 << 32) + (round * threads + thread) % 4096 * granule;
        if (!table->insert(at(address), round + 1)) ++wrong;
        if (table->find(at(address)) != round + 1) ++wrong;
        if (table->remove(at(address)) != round + 1) ++wrong;
      }
    });
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace blastoff::allocator
