#include "platform/span.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace blastoff::platform {
namespace {

TEST(Span, ComparesRanges) {
  const Span span = {100, 200};
  EXPECT_EQ(span.bytes(), 100u);
  EXPECT_FALSE(span.empty());
  EXPECT_TRUE((Span{5, 5}).empty());
  EXPECT_TRUE(span.contains({100, 200}));
  EXPECT_FALSE(span.contains({99, 200}));
  EXPECT_FALSE(span.contains({100, 201}));
  EXPECT_TRUE(span.overlaps({199, 300}));
  EXPECT_FALSE(span.overlaps({200, 300}));
  EXPECT_FALSE(span.overlaps({0, 100}));
}

TEST(Span, RoundsToPages) {
  const std::uintptr_t page = page_size();
  EXPECT_EQ(page, static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(outward_to_pages({page + 1, page + 2}), (Span{page, 2 * page}));
  EXPECT_EQ(outward_to_pages({page, 2 * page}), (Span{page, 2 * page}));
  EXPECT_EQ(inward_to_pages({page - 1, 3 * page + 1}), (Span{page, 3 * page}));
  EXPECT_EQ(inward_to_pages({page, 2 * page}), (Span{page, 2 * page}));
  EXPECT_TRUE(inward_to_pages({page + 1, 2 * page + 1}).empty());
  EXPECT_EQ(inward_to_pages({page + 1, page + 2}).bytes(), 0u);
}

}  // namespace
}  // namespace blastoff::platform
