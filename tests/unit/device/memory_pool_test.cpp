#include "device/memory_pool.h"

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "delayed_device.h"
#include "device/open.h"

namespace blastoff::device {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// A source that knows what is allocated, and has so many bytes.
struct Store {
  std::size_t room = SIZE_MAX;
  std::set<std::uint64_t> allocated{};
  std::size_t bytes = 0;
  std::uint64_t next = 4096;

  MemorySource source() {
    return {[this](std::size_t size) -> Result<std::uint64_t> {
              if (bytes + size > room) return tl::unexpected(Error{ErrorKind::out_of_memory, "full"});
              bytes += size;
              allocated.insert(next);
              return std::exchange(next, next + size);
            },
            [this](std::uint64_t address, std::size_t size) {
              EXPECT_EQ(allocated.erase(address), 1U);
              bytes -= size;
            }};
  }
};

std::unique_ptr<Device> simulated(std::size_t memory) {
  Choice choice;
  choice.name = "simulated";
  choice.simulated_memory = memory;
  return std::move(*open(choice));
}

TEST(MemoryPool, ClassesWasteAnEighthAtMost) {
  for (std::size_t bytes = 1; bytes < 200'000; bytes += 7) {
    const std::size_t size = MemoryPool::class_of(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_LE(size, std::max<std::size_t>(1024, bytes + bytes / 8));
    ASSERT_EQ(MemoryPool::class_of(size), size);
  }
  EXPECT_EQ(MemoryPool::class_of(std::size_t{1} << 40), std::size_t{1} << 40);
}

TEST(MemoryPool, ServesWhatWasGivenBack) {
  Store store;
  MemoryPool pool(store.source());
  std::uint64_t address = 0;
  {
    auto first = pool.take(5000);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->bytes(), MemoryPool::class_of(5000));
    address = first->address();
  }
  {
    auto same_class = pool.take(4900);
    ASSERT_TRUE(same_class);
    EXPECT_EQ(same_class->address(), address);
    auto other = pool.take(5000);
    ASSERT_TRUE(other);
    EXPECT_NE(other->address(), address);
  }
  const PoolCounts counts = pool.counts();
  EXPECT_EQ(counts.hits, 1U);
  EXPECT_EQ(counts.misses, 2U);
  EXPECT_EQ(counts.bytes, 2 * MemoryPool::class_of(5000));
  EXPECT_TRUE(pool.trim());
  EXPECT_FALSE(pool.trim());
  EXPECT_EQ(store.bytes, 0U);
  EXPECT_EQ(pool.counts().bytes, 0U);
}

TEST(MemoryPool, ServesALargerPieceThatIsNotMuchLarger) {
  Store store;
  MemoryPool pool(store.source());
  (void)pool.take(6000);
  EXPECT_TRUE(pool.take(4500));
  EXPECT_TRUE(pool.take(3000));
  const PoolCounts counts = pool.counts();
  EXPECT_EQ(counts.hits, 1U);
  EXPECT_EQ(counts.misses, 2U);
}

TEST(MemoryPool, FreesWhatItKeepsBeforeItFails) {
  Store store{.room = 10'000};
  MemoryPool pool(store.source());
  (void)pool.take(5000);
  const auto held = pool.take(8000);
  EXPECT_TRUE(held) << "another class";
  const auto refused = pool.take(8000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
}

TEST(MemoryPool, KeepsWithinItsLimitAndNothingIfAsked) {
  Store store;
  MemoryPool pool(store.source());
  pool.limit(3000);
  EXPECT_FALSE(pool.take(4000));
  EXPECT_TRUE(pool.take(2000));
  EXPECT_GT(store.bytes, 0U);
  pool.keep(false);
  EXPECT_EQ(store.bytes, 0U);
  (void)pool.take(2000);
  EXPECT_EQ(store.bytes, 0U);
  EXPECT_EQ(pool.counts().hits, 0U);
}

TEST(MemoryPool, OfADeviceMakesRoomWhereItIsFull) {
  const auto device = simulated(8 * mebibyte);
  MemoryPool pool(memory_of(*device, MemoryClient::copies));
  std::uint64_t first = 0;
  {
    const auto memory = pool.take(5 * mebibyte);
    ASSERT_TRUE(memory);
    first = memory->address();
  }
  {
    const auto again = pool.take(5 * mebibyte - 100);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->address(), first);
    EXPECT_FALSE(pool.take(6 * mebibyte)) << "the device is full, and nothing is kept";
  }
  EXPECT_TRUE(pool.take(8 * mebibyte)) << "what was kept goes";
  EXPECT_FALSE(pool.take(9 * mebibyte));
}

TEST(MemoryPool, OfADeviceStaysWithinTheBudget) {
  const auto device = simulated(16 * mebibyte);
  device->accountant().limit(MemoryClient::copies, 4 * mebibyte);
  MemoryPool pool(memory_of(*device, MemoryClient::copies));
  auto one = pool.take(2 * mebibyte);
  ASSERT_TRUE(one);
  const auto other = pool.take(3 * mebibyte);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::out_of_memory);
  *one = {};
  EXPECT_EQ(device->accountant().held(MemoryClient::copies).now, 2 * mebibyte) << "what is kept counts";
  EXPECT_TRUE(pool.take(3 * mebibyte));
}

TEST(MemoryPool, FreesMemoryThatIsStillUsedAfterItsLastUse) {
  constexpr int longest_delay = 200;
  const auto device = test::delayed(simulated(mebibyte), 1, longest_delay);
  PointSource points(*device);
  const auto queue = std::move(*device->create_queue());
  std::vector<char> bytes(1000);
  MemoryPool pool(memory_of(*device, MemoryClient::blocks));
  auto memory = pool.take(bytes.size());
  ASSERT_TRUE(memory);
  ASSERT_TRUE(queue->copy_to_device(memory->address(), bytes.data(), {bytes.size(), 1, 0, 0}));
  memory->uses().add(points.record(*queue).value());
  *memory = {};
  EXPECT_TRUE(pool.trim());  // the device reports memory that is freed under a copy
  EXPECT_EQ(pool.counts().bytes, 0U);
}

// While one thread waits for the driver, others are served.
TEST(MemoryPool, HoldsNoLockWhileItAllocates) {
  Store store;
  MemorySource source = store.source();
  std::promise<void> others_served;
  const auto allocate = source.allocate;
  source.allocate = [&](std::size_t bytes) {
    if (bytes > 4096) others_served.get_future().wait();
    return allocate(bytes);
  };
  MemoryPool pool(std::move(source));
  (void)pool.take(1000);
  std::thread waiting([&] { EXPECT_TRUE(pool.take(10'000)); });
  EXPECT_TRUE(pool.take(1000));
  others_served.set_value();
  waiting.join();
}

TEST(MemoryPool, GivesEveryPieceToOneThreadAtATime) {
  const auto device = simulated(mebibyte);
  MemoryPool pool(memory_of(*device, MemoryClient::copies));
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int step = 0; step < 2000; ++step) {
        const std::size_t bytes = 1 + random() % 100'000;
        const auto memory = pool.take(bytes);
        if (random() % 100 == 0) pool.trim();
        if (!memory) continue;                                                      // the others hold it
        auto* const numbers = reinterpret_cast<unsigned char*>(memory->address());  // of the simulated device
        numbers[0] = numbers[bytes - 1] = static_cast<unsigned char>(seed);
        std::this_thread::yield();
        ASSERT_EQ(numbers[0], seed);
        ASSERT_EQ(numbers[bytes - 1], seed);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(pool.counts().hits, 1000U);
}

}  // namespace
}  // namespace blastoff::device
