#include "platform/malloc_arenas.h"

#include <gtest/gtest.h>
#include <malloc.h>

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

}  // namespace
}  // namespace blastoff::platform
