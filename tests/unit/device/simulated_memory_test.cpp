// The memory behind the simulated device's matrices that may be read.
#include "device/simulated/memory.h"

#include <gtest/gtest.h>

#include "platform/readable.h"

namespace blastoff::device::simulated {
namespace {

bool readable(Address address) {
  return platform::is_readable(reinterpret_cast<const void*>(address), sizeof(double));
}

TEST(SimulatedMemory, EndsInAFaultWithoutSlack) {
  Memory memory(64 << 20, false);
  const Address matrix = *memory.allocate(8192);
  EXPECT_TRUE(readable(matrix + 8184));
  EXPECT_FALSE(readable(matrix + 8192));
  const Address reserved = *memory.reserve(2 * granularity);
  ASSERT_TRUE(memory.back(reserved, granularity));
  EXPECT_FALSE(readable(reserved + granularity));
}

TEST(SimulatedMemory, HasSlackThatCanBeRead) {
  Memory memory(64 << 20, true);
  const Address matrix = *memory.allocate(8192);
  EXPECT_TRUE(readable(matrix + 8192));
  EXPECT_TRUE(readable(matrix + 8192 + 8000));
  EXPECT_FALSE(memory.holds(matrix, 8193)) << "it is no part of the matrix";
  EXPECT_TRUE(memory.free(matrix));
  EXPECT_FALSE(readable(matrix)) << "a use after the end is found";
  EXPECT_FALSE(readable(matrix + 8192));
  EXPECT_EQ(memory.unused(), memory.total());
  const Address reserved = *memory.reserve(2 * granularity);
  ASSERT_TRUE(memory.back(reserved + granularity, granularity));
  EXPECT_TRUE(readable(reserved + 2 * granularity));
  EXPECT_TRUE(memory.unback(reserved + granularity, granularity));
  EXPECT_TRUE(readable(reserved + granularity));
  EXPECT_TRUE(memory.release(reserved, 2 * granularity));
  EXPECT_FALSE(readable(reserved));
}

}  // namespace
}  // namespace blastoff::device::simulated
