#include "blocks/pool.h"

#include <set>

#include "rig.h"

namespace blastoff::blocks::test {
namespace {

/// A source that knows what is allocated, and has so many bytes.
struct Store {
  std::size_t room = SIZE_MAX;
  std::set<std::uint64_t> allocated{};
  std::size_t bytes = 0;
  std::uint64_t next = 4096;

  MemorySource source() {
    return {[this](std::size_t size) -> device::Result<std::uint64_t> {
              if (bytes + size > room) return tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "full"});
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

TEST(Pool, ClassesWasteAQuarterAtMost) {
  for (std::size_t bytes = 1; bytes < 200'000; bytes += 7) {
    const std::size_t size = Pool::class_of(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_LE(size, std::max<std::size_t>(1024, bytes + bytes / 4));
    ASSERT_EQ(Pool::class_of(size), size);
  }
  EXPECT_EQ(Pool::class_of(std::size_t{1} << 40), std::size_t{1} << 40);
}

TEST(Pool, ServesWhatWasFreed) {
  Counters counters;
  Store store;
  Pool pool(store.source(), counters);
  std::uint64_t address = 0;
  {
    auto first = pool.take(5000);
    ASSERT_TRUE(first);
    address = first->address();
  }
  {
    auto same_class = pool.take(4500);
    ASSERT_TRUE(same_class);
    EXPECT_EQ(same_class->address(), address);
    auto other = pool.take(5000);
    ASSERT_TRUE(other);
    EXPECT_NE(other->address(), address);
  }
  const PoolCounts counts = pool.counts();
  EXPECT_EQ(counts.hits, 1U);
  EXPECT_EQ(counts.misses, 2U);
  EXPECT_EQ(counts.bytes, 2 * Pool::class_of(5000));
  pool.trim();
  EXPECT_EQ(store.bytes, 0U);
  EXPECT_EQ(pool.counts().bytes, 0U);
}

TEST(Pool, GivesBackWhatItKeepsBeforeItFails) {
  Counters counters;
  Store store{.room = 10'000};
  Pool pool(store.source(), counters);
  (void)pool.take(6000);
  EXPECT_TRUE(pool.take(8000)) << "another class";
  const auto held = pool.take(8000);
  const auto refused = pool.take(8000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, device::ErrorKind::out_of_memory);
}

TEST(Pool, KeepsWithinItsLimitAndNothingIfAsked) {
  Counters counters;
  Store store;
  Pool pool(store.source(), counters);
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

TEST(Pool, MemoryThatIsStillUsedIsFreedAfterItsLastUse) {
  Rig rig({.delayed = true});
  const auto stream = rig.stream(0);
  std::vector<char> bytes(1000);
  auto memory = rig.engine().device_memory(0, bytes.size());
  ASSERT_TRUE(memory);
  ASSERT_TRUE(stream->copy_to_device(memory->address(), bytes.data(), {bytes.size(), 1, 0, 0}));
  memory->uses().add(rig.engine().site(0).points().record(*stream).value());
  *memory = Memory();
  rig.engine().trim();  // the device reports memory that is freed under a copy
  EXPECT_EQ(rig.engine().memory_counts().device.bytes, 0U);
}

}  // namespace
}  // namespace blastoff::blocks::test
