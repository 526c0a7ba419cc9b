#include "runtime/kept_operation.h"

#include <gtest/gtest.h>

#include <optional>

#include "fft/execution.h"

namespace blastoff::runtime {
namespace {

TEST(KeptOperation, HasItsOwnPlan) {
  std::optional<fft::Plan> plan(std::in_place);
  plan->in_footprint = plan->out_footprint = {.rows = 6, .columns = 4, .leading_dimension = 8};
  double in = 0;
  double out = 0;
  const auto operation = fft::Execution{&*plan, &in, &out}.operation();
  const KeptOperation kept(operation);
  plan->in_footprint.leading_dimension = 0;
  plan.reset();
  EXPECT_EQ(fft::plan_of(*kept).in_footprint.leading_dimension, 8);
  EXPECT_EQ(fft::input_of(*kept).address, &in);
  EXPECT_EQ(fft::output_of(*kept).leading_dimension, 8);
}

}  // namespace
}  // namespace blastoff::runtime
