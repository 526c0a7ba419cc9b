#include "platform/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "child.h"

namespace blastoff::platform {
namespace {

constexpr std::size_t bytes = 3 * huge_page;

std::vector<unsigned char> pages_in_place(void* memory) {
  std::vector<unsigned char> pages(bytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  if (mincore(memory, bytes, pages.data()) != 0) pages.clear();
  return pages;
}

TEST(HugePages, AreAlignedAndHaveTheirPages) {
  void* const memory = map_huge_pages(bytes);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % huge_page, 0U);
  const auto pages = pages_in_place(memory);
  ASSERT_FALSE(pages.empty());
  EXPECT_EQ(std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) == 0; }), 0);
  auto* const first = static_cast<char*>(memory);
  EXPECT_TRUE(std::all_of(first, first + bytes, [](char byte) { return byte == 0; }));
  unmap_huge_pages(memory, bytes);
  EXPECT_TRUE(pages_in_place(memory).empty());
}

TEST(HugePages, AreNotForTheChild) {
  void* const memory = map_huge_pages(bytes);
  ASSERT_NE(memory, nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(pages_in_place(memory).empty() ? 0 : 1);
  EXPECT_EQ(test::status_of(child), 0);
  unmap_huge_pages(memory, bytes);
}

TEST(HugePages, MoreThanThereIs) {
  EXPECT_EQ(map_huge_pages(std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace blastoff::platform
