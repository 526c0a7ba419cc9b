#include "ledger/page_bitmap.h"

#include <gtest/gtest.h>

namespace blastoff::ledger {
namespace {

TEST(PageBitmap, RangesAcrossWords) {
  PageBitmap bits{};
  bits.set(60, 130);
  EXPECT_TRUE(bits.all(60, 130));
  EXPECT_FALSE(bits.any(0, 60));
  EXPECT_FALSE(bits.any(130, 512));
  EXPECT_FALSE(bits.all(59, 61));
  EXPECT_EQ(bits.count(0, 512), 70U);
  bits.clear(64, 128);
  EXPECT_EQ(bits.count(0, 512), 6U);
  EXPECT_TRUE(bits.test(63));
  EXPECT_FALSE(bits.test(64));
  bits.set(0, 512);
  EXPECT_TRUE(bits.all(0, 512));
}

}  // namespace
}  // namespace blastoff::ledger
