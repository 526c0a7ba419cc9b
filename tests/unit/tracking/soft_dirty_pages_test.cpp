#include "tracking/soft_dirty/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace blastoff::tracking {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Pages by number.
Span pages(std::size_t first, std::size_t count) {
  return {first * platform::page_size(), (first + count) * platform::page_size()};
}

std::vector<Span> pending(const SoftDirtyPages& set, Span span) {
  std::vector<Span> runs;
  set.append_pending(span, runs);
  return runs;
}

TEST(SoftDirtyPages, WhatIsNewlyTrackedIsPending) {
  SoftDirtyPages set;
  set.track(pages(500, 30));
  EXPECT_TRUE(set.tracked(pages(500, 30)));
  EXPECT_FALSE(set.tracked(pages(499, 2)));
  EXPECT_FALSE(set.tracked(pages(520, 11)));
  EXPECT_THAT(pending(set, pages(0, 2000)), ElementsAre(pages(500, 30)));
  set.settle(pages(500, 20));
  set.track(pages(490, 50));
  EXPECT_THAT(pending(set, pages(0, 2000)), ElementsAre(pages(490, 10), pages(520, 20)));
  EXPECT_THAT(pending(set, pages(495, 30)), ElementsAre(pages(495, 5), pages(520, 5)));
}

TEST(SoftDirtyPages, AHoleIsNotTracked) {
  SoftDirtyPages set;
  set.track(pages(0, 5000));
  set.untrack(pages(1024, 512));  // a whole chunk
  EXPECT_FALSE(set.tracked(pages(1000, 1000)));
  EXPECT_TRUE(set.tracked(pages(0, 1024)));
  EXPECT_TRUE(set.tracked(pages(1536, 3464)));
  EXPECT_FALSE(set.tracked(pages(1024, 1)));
  set.untrack(pages(7, 1));
  EXPECT_FALSE(set.tracked(pages(0, 10)));
  EXPECT_TRUE(set.tracked(pages(8, 1000)));
  set.track(pages(7, 1));
  EXPECT_TRUE(set.tracked(pages(0, 1024)));
}

TEST(SoftDirtyPages, OnlyTrackedPagesBecomePending) {
  SoftDirtyPages set;
  set.track(pages(10, 10));
  set.settle(pages(10, 10));
  EXPECT_THAT(pending(set, pages(0, 600)), IsEmpty());
  set.add_pending(pages(0, 15));
  EXPECT_THAT(pending(set, pages(0, 600)), ElementsAre(pages(10, 5)));
  set.all_pending();
  EXPECT_THAT(pending(set, pages(0, 600)), ElementsAre(pages(10, 10)));
}

TEST(SoftDirtyPages, PagesUnderWayStayPending) {
  SoftDirtyPages set;
  set.track(pages(0, 8));
  set.each_chunk([](SoftDirtyPages::Chunk& chunk, std::uintptr_t, std::size_t, std::size_t) {
    chunk.moving.put(3, true);
    return true;
  });
  set.settle(pages(0, 8));
  EXPECT_THAT(pending(set, pages(0, 8)), ElementsAre(pages(3, 1)));
}

TEST(SoftDirtyPages, BitsInRanges) {
  SoftDirtyPages::Bits bits;
  EXPECT_FALSE(bits.any());
  bits.add(60, 200);
  EXPECT_TRUE(bits.all(60, 200));
  EXPECT_FALSE(bits.all(59, 200));
  EXPECT_FALSE(bits.all(60, 201));
  EXPECT_TRUE(bits.all(5, 5));
  bits.remove(64, 192);
  EXPECT_TRUE(bits.test(63));
  EXPECT_FALSE(bits.test(64));
  EXPECT_TRUE(bits.test(192));
  bits.remove(0, 512);
  EXPECT_FALSE(bits.any());
}

}  // namespace
}  // namespace blastoff::tracking
