#include "runtime/homes.h"

#include <gtest/gtest.h>

namespace blastoff::runtime {
namespace {

TEST(Homes, AreKnownUntilOtherMatricesTakeTheirPlace) {
  Homes homes;
  constexpr std::uint64_t key = 0x0123456789abcdef;
  EXPECT_FALSE(homes.of(key));
  homes.set(key, 0);
  EXPECT_EQ(homes.of(key), 0U);
  homes.set(key, 15);
  EXPECT_EQ(homes.of(key), 15U);
  EXPECT_FALSE(homes.of(key + 0x100));
  EXPECT_FALSE(homes.of(0));
  homes.set(key + 0x100, 1);
  EXPECT_FALSE(homes.of(key));
  EXPECT_EQ(homes.of(key + 0x100), 1U);
  homes.set(0, 2);
  EXPECT_EQ(homes.of(0), 2U);
  EXPECT_EQ(homes.of(key + 0x100), 1U);
}

}  // namespace
}  // namespace blastoff::runtime
