#include "platform/reserve.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <string>

namespace blastoff::platform {
namespace {

/// More memory than any heap has.
constexpr std::size_t too_much = ~std::size_t{0} / 4;

TEST(Reserve, HasItsLimits) {
  EXPECT_THROW(operator delete(operator new(too_much)), std::bad_alloc);
  const FromReserve open;
  EXPECT_THROW(operator delete(operator new(too_much)), std::bad_alloc);
  const std::string ordinary(1000, 'x');
  EXPECT_EQ(ordinary.size(), 1000U);
}

}  // namespace
}  // namespace blastoff::platform
