#include "platform/malloc_arenas.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "mapped_memory.h"

namespace blastoff::platform {
namespace {

Span span_of(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return {begin, begin + bytes};
}

TEST(MallocArenas, HaveSmallBlocks) {
  const std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::malloc(1000)), &std::free);
  EXPECT_TRUE(in_malloc_arena(span_of(block.get(), 1000)));
}

TEST(MallocArenas, HaveSmallBlocksOfThreads) {
  std::thread([] {
    const std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::malloc(1000)), &std::free);
    EXPECT_TRUE(in_malloc_arena(span_of(block.get(), 1000)));
  }).join();
}

// The kernel joins the beginning of an arena's heap with other memory below it.
TEST(MallocArenas, AreFoundBehindOtherMemory) {
  constexpr std::size_t arena_bytes = std::size_t{64} << 20;
  const Span room = [] {
    void* const found = mmap(nullptr, 3 * arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const auto begin = reinterpret_cast<std::uintptr_t>(found);
    return Span{begin, begin + 3 * arena_bytes};
  }();
  const std::uintptr_t arena = (room.begin / arena_bytes + 1) * arena_bytes;
  constexpr std::size_t used = std::size_t{1} << 20;
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(arena - 4096), 4096 + used, PROT_READ | PROT_WRITE), 0);
  EXPECT_TRUE(in_malloc_arena({arena + 8192, arena + 9000}));
  EXPECT_FALSE(in_malloc_arena({arena - 4096, arena - 3000})) << "what lies below it";
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(arena), arena_bytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_FALSE(in_malloc_arena({arena + 8192, arena + 9000})) << "memory like any other";
  munmap(reinterpret_cast<void*>(room.begin), room.bytes());
}

// As a matrix whose mapping the kernel has put there.
TEST(MallocArenas, DoNotHaveMemoryThatBeginsWhereOneMight) {
  constexpr std::size_t arena_bytes = std::size_t{64} << 20;
  constexpr std::size_t used = std::size_t{2} << 20;
  void* const room = mmap(nullptr, 2 * arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto begin = reinterpret_cast<std::uintptr_t>(room);
  const std::uintptr_t arena = (begin / arena_bytes + 1) * arena_bytes;
  munmap(room, arena - begin);
  munmap(reinterpret_cast<void*>(arena + used), begin + 2 * arena_bytes - arena - used);
  EXPECT_FALSE(in_malloc_arena({arena, arena + used}));
  munmap(reinterpret_cast<void*>(arena), used);
}

TEST(MallocArenas, DoNotHaveMemoryOfItsOwn) {
  const test::Memory memory(16);
  EXPECT_FALSE(in_malloc_arena(memory.span()));
  static char data[100'000];
  EXPECT_FALSE(in_malloc_arena(span_of(data, sizeof data)));
}

TEST(MallocArenas, DoNotHaveLargeBlocks) {
  constexpr std::size_t bytes = std::size_t{40} << 20;
  const std::vector<char> block(bytes);
  EXPECT_FALSE(in_malloc_arena(span_of(block.data(), bytes)));
}

std::uintptr_t address_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

std::uintptr_t next_page(std::uintptr_t address) {
  return (address + page_size() - 1) / page_size() * page_size();
}

TEST(MallocMappings, AreThoseOfLargeBlocks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  constexpr std::size_t bytes = 3'000'000;
  std::vector<std::unique_ptr<char, decltype(&std::free)>> blocks;
  for (int i = 0; i < 4; ++i) blocks.emplace_back(static_cast<char*>(std::malloc(bytes)), &std::free);
  for (const auto& block : blocks) {
    EXPECT_EQ(end_of_malloc_mapping(address_of(block.get())), next_page(address_of(block.get()) + bytes));
    EXPECT_EQ(end_of_malloc_mapping(address_of(block.get()) + 16), 0U) << "other data lies before it";
    EXPECT_EQ(end_of_malloc_mapping(next_page(address_of(block.get())) + 16), 0U);
    EXPECT_EQ(end_of_malloc_mapping(next_page(address_of(block.get()))), 0U) << "of a page";
  }
  const std::unique_ptr<char, decltype(&std::free)> aligned(static_cast<char*>(std::aligned_alloc(64, bytes)),
                                                            &std::free);
  EXPECT_EQ(end_of_malloc_mapping(address_of(aligned.get())), next_page(address_of(aligned.get()) + bytes));
}

TEST(MallocMappings, AreNeitherSmallBlocksNorOtherMemory) {
  const std::unique_ptr<char, decltype(&std::free)> small(static_cast<char*>(std::malloc(10'000)), &std::free);
  EXPECT_EQ(end_of_malloc_mapping(address_of(small.get())), 0U);
  const test::Memory memory(16);
  EXPECT_EQ(end_of_malloc_mapping(memory.span().begin), 0U);
  EXPECT_EQ(end_of_malloc_mapping(memory.span().begin + 16), 0U);
  static char data[100'000];
  EXPECT_EQ(end_of_malloc_mapping(address_of(data + 64)), 0U);
}

}  // namespace
}  // namespace blastoff::platform
