// The blocks into which a call is cut that does not fit into device memory.
#include "runtime/block_plan.h"

#include <gtest/gtest.h>

#include <array>

#include "blas/call.h"
#include "product_call.h"

namespace blastoff::runtime {
namespace {

constexpr std::size_t gibibyte = std::size_t{1} << 30;

operation::Operation product(std::int64_t n) {
  return test::product_call({}, n, n, n);
}

/// A machine with a GPU on PCIe gen5.
decide::MachineModel model(double flops) {
  decide::MachineModel result;
  result.device_flops = flops;
  result.to_device = 28e9;
  result.direct_to_device = result.from_device = 54e9;
  return result;
}

TEST(BlockPlan, BringsAheadWhereTheLinkHasTimeForIt) {
  const BlockPlan plan = plan_blocks(product(16000), 2 * gibibyte, model(55e12), true);
  EXPECT_TRUE(plan.ahead);
  ASSERT_EQ(plan.series.size(), 1U);
  EXPECT_EQ(plan.series.front().size(), 3U);
}

TEST(BlockPlan, TakesLargeBlocksWhereTheLinkIsBusy) {
  for (const auto& [room, rate] : {std::pair{gibibyte, 55e12}, {2 * gibibyte, 500e12}}) {
    const BlockPlan plan = plan_blocks(product(16000), room, model(rate), true);
    EXPECT_FALSE(plan.ahead);
    ASSERT_EQ(plan.series.size(), 1U);
    EXPECT_EQ(plan.series.front().size(), room == gibibyte ? 4U : 2U);
  }
}

TEST(BlockPlan, KnowsThatStagedMatricesComeMoreSlowly) {
  EXPECT_FALSE(plan_blocks(product(16000), 2 * gibibyte, model(55e12), false).ahead);
}

TEST(BlockPlan, IsEmptyForWhatCannotBeCut) {
  EXPECT_TRUE(plan_blocks(product(1), 1, model(1e12), true).series.empty());
}

TEST(BlockPlan, CutsWhatFitsByItself) {
  const BlockPlan plan = plan_blocks(product(100), gibibyte, model(1e12), true);
  EXPECT_GT(plan.series.front().size() + plan.series.size(), 2U) << "others have the memory";
}

}  // namespace
}  // namespace blastoff::runtime
