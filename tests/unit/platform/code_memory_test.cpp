#include "platform/code_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "platform/mappings.h"

namespace blastoff::platform {
namespace {

/// The machine code of a function that returns a constant.
std::vector<std::byte> returning(std::uint16_t value) {
  std::vector<std::byte> code;
  const auto append = [&](auto instruction) {
    const std::size_t end = code.size();
    code.resize(end + sizeof instruction);
    std::memcpy(&code[end], &instruction, sizeof instruction);
  };
#if defined(__x86_64__)
  append(std::uint8_t{0xb8});  // mov eax, value
  append(std::uint32_t{value});
  append(std::uint8_t{0xc3});  // ret
#else
  append(std::uint32_t{0x52800000U | std::uint32_t{value} << 5});  // mov w0, value
  append(std::uint32_t{0xd65f03c0});                               // ret
#endif
  return code;
}

int call(std::uintptr_t address) {
  return reinterpret_cast<int (*)()>(address)();
}

Span here() {
  const auto address = reinterpret_cast<std::uintptr_t>(&call);
  return {address, address + 16};
}

int protection_of(std::uintptr_t address) {
  const auto mapping = Mappings().covering(address);
  return mapping ? mapping->readable * PROT_READ | mapping->writable * PROT_WRITE | mapping->executable * PROT_EXEC
                 : -1;
}

TEST(CodeMemory, LiesWithinReachAndRuns) {
  for (const std::uint64_t reach : {std::uint64_t{128} << 20, std::uint64_t{2} << 30}) {
    const auto place = reserve_near(here(), 100, reach);
    ASSERT_TRUE(place);
    EXPECT_LE(std::max(place->end, here().end) - std::min(place->begin, here().begin), reach);
    ASSERT_TRUE(map_code(*place, returning(42)));
    EXPECT_EQ(protection_of(place->begin), PROT_READ | PROT_EXEC);
    EXPECT_EQ(call(place->begin), 42);
    release(*place);
  }
}

TEST(CodeMemory, IsNotFoundWhereNothingIsFree) {
  EXPECT_FALSE(reserve_near(here(), page_size(), 64));
}

TEST(CodeMemory, LeavesTheHeapRoomToGrow) {
  const auto heap_end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const auto place = reserve_near({heap_end - 64, heap_end - 32}, page_size(), std::uint64_t{1} << 40);
  ASSERT_TRUE(place);
  EXPECT_FALSE(heap_end <= place->begin && place->begin < heap_end + (std::size_t{1} << 30));
  release(*place);
}

TEST(CodeMemory, HasManyPages) {
  std::vector<CodePage> pages;
  for (std::uint16_t value = 0; value < 20; ++value) {
    const auto place = reserve_near(here(), page_size(), UINT64_MAX);
    ASSERT_TRUE(place);
    pages.push_back({*place, returning(value), value * std::size_t{16}});
  }
  ASSERT_TRUE(map_pages_of_code(pages));
  for (std::size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(protection_of(pages[i].span.begin), PROT_READ | PROT_EXEC);
    EXPECT_EQ(call(pages[i].span.begin + pages[i].offset), static_cast<int>(i));
    release(pages[i].span);
  }
}

TEST(CodeWriter, ReplacesCodeAndRestoresItsProtection) {
  const auto place = reserve_near(here(), page_size(), UINT64_MAX);
  ASSERT_TRUE(place);
  ASSERT_TRUE(map_code(*place, returning(1)));
  {
    CodeWriter writer(*place);
    EXPECT_EQ(protection_of(place->begin), PROT_READ | PROT_WRITE | PROT_EXEC);
    EXPECT_TRUE(writer.write(place->begin, returning(2)));
  }
  EXPECT_EQ(call(place->begin), 2);
  EXPECT_EQ(protection_of(place->begin), PROT_READ | PROT_EXEC);
  release(*place);
}

/// Mappings with different protection cannot be made writable in one step, so the writer uses an alias.
TEST(CodeWriter, WritesThroughAnAliasWherePagesStayUnwritable) {
  const auto place = reserve_near(here(), 2 * page_size(), UINT64_MAX);
  ASSERT_TRUE(place);
  ASSERT_TRUE(map_code(*place, returning(1)));
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(place->begin + page_size()), page_size(), PROT_READ), 0);
  CodeWriter writer(*place);
  EXPECT_EQ(protection_of(place->begin), PROT_READ | PROT_EXEC);
  EXPECT_TRUE(writer.write(place->begin, returning(3)));
  EXPECT_EQ(call(place->begin), 3);
  release(*place);
}

}  // namespace
}  // namespace blastoff::platform
