// Several threads on the same blocks: somebody holds each of them at any time, and evictions go on beside.
#include <atomic>
#include <random>
#include <thread>

#include "rig.h"

namespace blastoff::blocks {
namespace {

constexpr std::size_t words = 3000;

/// Each writer fills a block with a value of its own; readers must find all of it the same.
void work(Rig& rig, std::vector<std::unique_ptr<Block>>& blocks, unsigned seed, std::atomic<int>& done) {
  std::mt19937 engine(seed);
  for (int step = 0; step < 400; ++step) {
    Block& block = *blocks[engine() % blocks.size()];
    const int place = static_cast<int>(engine() % 3) - 1;
    if (engine() % 8 == 0) (void)block.prefetch(place);
    if (engine() % 8 == 0) (void)block.evict(place);
    if (engine() % 50 == 0) rig.engine().trim();
    const auto access = static_cast<Access>(engine() % 3);
    const auto address = block.acquire(place, access, nullptr);
    if (!address) {
      if (address.error().kind != ErrorKind::conflict && address.error().kind != ErrorKind::out_of_memory)
        ADD_FAILURE() << address.error().message;
      continue;
    }
    auto* const values = at<std::uint32_t>(*address);
    if (access != Access::write)
      for (std::size_t i = 1; i < words; ++i)
        if (values[i] != values[0]) {
          ADD_FAILURE() << "two versions in one block";
          break;
        }
    if (access != Access::read) std::fill_n(values, words, static_cast<std::uint32_t>(engine()));
    EXPECT_DONE(block.release(place, nullptr));
    ++done;
  }
}

void run_threads(bool delayed) {
  Rig rig({.devices = 2, .device_memory = std::size_t{48} << 10, .delayed = delayed});
  std::vector<std::unique_ptr<Block>> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(rig.block(words * sizeof(std::uint32_t)));
    const auto address = blocks.back()->acquire(host_place, Access::write, nullptr);
    ASSERT_DONE(address);
    std::fill_n(at<std::uint32_t>(*address), words, 1U);
    ASSERT_DONE(blocks.back()->release(host_place, nullptr));
  }
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back([&, seed] { work(rig, blocks, seed, done); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(done, 500);
  EXPECT_GT(rig.engine().counters().evictions, 0U);
}

TEST(BlocksOfThreads, HoldOneVersion) {
  run_threads(false);
}

TEST(BlocksOfThreads, HoldOneVersionOnDevicesThatWorkLate) {
  run_threads(true);
}

TEST(BlocksOfThreads, ComeAndGo) {
  Rig rig({.device_memory = std::size_t{48} << 10});
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (unsigned i = 0; i < 300; ++i) {
        const auto block = rig.block(words * sizeof(std::uint32_t));
        const auto address = block->acquire(0, Access::write, nullptr);
        if (!address) continue;  // the others hold all memory
        std::fill_n(at<std::uint32_t>(*address), words, seed * i);
        EXPECT_DONE(block->release(0, nullptr));
        const auto home = block->acquire(host_place, Access::read, nullptr);
        ASSERT_DONE(home);
        EXPECT_EQ(at<std::uint32_t>(*home)[words - 1], seed * i);
        EXPECT_DONE(block->release(host_place, nullptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace blastoff::blocks
