// Decisions for a factorization in a program's own loops: each step uses another block of one matrix, and its results
// stay on the device.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "decide/matrix_regions.h"
#include "decide/predicted_times.h"

namespace blastoff::decide {
namespace {

constexpr std::int64_t order = 16000;
constexpr std::int64_t width = 256;
constexpr int steps = 60;

operation::Operand block(std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
                         std::int64_t leading_dimension = order) {
  const auto first = (std::uintptr_t{1} << 40) + static_cast<std::uintptr_t>(column * leading_dimension + row) * 8;
  return {.address = reinterpret_cast<void*>(first),
          .rows = rows,
          .columns = columns,
          .leading_dimension = leading_dimension,
          .element_size = 8,
          .intent = operation::Intent::update};
}

/// A machine on which the matrix is either on the device alone, or in host memory alone.
class Factorization final : public operation::Estimator {
 public:
  std::optional<operation::Estimate> estimate(const operation::Operation& update) override {
    const std::uint64_t bytes = update.operands()[0].part_bytes();
    return operation::Estimate{.resident = there_ ? bytes : 0,
                               .missing = there_ ? 0 : bytes,
                               .only_there = there_ ? bytes : 0,
                               .staying = stays ? bytes : 0};
  }

  /// Returns how many steps the device made.
  int factorize() {
    there_ = false;
    int on_device = 0;
    for (int step = 1; step <= steps; ++step) on_device += update(step) == Refusal::none ? 1 : 0;
    return on_device;
  }

  bool stays = true;
  bool rewritten = false;  ///< by the program, after each step
  double slowness = 1;     ///< of bringing the matrix
  double seconds = 0;
  double on_cpu_alone = 0;

 private:
  Refusal update(int step) {
    const std::int64_t first = step * width;
    const std::int64_t n = order - first;
    operation::Operation update;
    update.work.flops = static_cast<double>(n * n * width);
    update.add(block(first, first, n, n));
    const auto bytes = static_cast<double>(update.operands()[0].part_bytes());
    const bool on_device = times_.judge(update, *this, nullptr) == Refusal::none;
    const double on_cpu = update.work.flops / 600e9;
    const double moving = bytes / 20e9;
    const double taken = on_device ? update.work.flops / 20e12 + (there_ ? 0 : slowness * moving) + (stays ? 0 : moving)
                                   : on_cpu + (there_ && stays ? moving : 0);
    seconds += taken;
    on_cpu_alone += on_cpu;
    const auto moved = static_cast<std::uint64_t>(bytes);
    times_.observe(update, {.on_device = on_device,
                            .operands_kept = true,
                            .seconds = taken,
                            .bytes_to_device = on_device && !there_ ? moved : 0,
                            .bytes_from_device = on_device && !stays ? moved : 0,
                            .bytes_reused = on_device && there_ ? moved : 0,
                            .bytes_left = on_device && stays ? moved : 0});
    there_ = on_device && !rewritten;
    return on_device ? Refusal::none : Refusal::cpu_faster;
  }

  const MachineModel model_ = [] {
    MachineModel model;
    model.cpu_flops = 700e9;
    model.to_device = model.from_device = 20e9;
    return model;
  }();
  LinkRate link_{model_};
  PredictedTimes times_{model_, link_};
  bool there_ = false;
};

TEST(FactorizationInBlocks, GoesToTheDeviceOnceItsStepsHaveLostThePrice) {
  Factorization program;
  EXPECT_GE(program.factorize(), steps - 6);
}

TEST(FactorizationInBlocks, GoesThereAtOnceWhereThatHasPaid) {
  Factorization program;
  program.factorize();
  EXPECT_EQ(program.factorize(), steps);
}

/// Page faults and a busy CPU make it take longer than the link does, which does not count as slow work.
TEST(FactorizationInBlocks, GoesThereThoughBringingTheMatrixHasBeenSlow) {
  Factorization program;
  program.slowness = 5;
  program.rewritten = true;
  for (int i = 0; i < 3; ++i) program.factorize();
  program.rewritten = false;
  program.factorize();
  EXPECT_GE(program.factorize(), steps - 6);
}

TEST(FactorizationInBlocks, TakesTwiceAsLongAtMostWhereTheProgramRewritesTheMatrix) {
  Factorization program;
  program.rewritten = true;
  for (int i = 0; i < 5; ++i) program.factorize();
  EXPECT_LE(program.seconds, 2.05 * program.on_cpu_alone);
}

TEST(FactorizationInBlocks, LosesItsTrustInAPriceThatDoesNotPayAnyMore) {
  Factorization program;
  for (int i = 0; i < 3; ++i) program.factorize();
  program.rewritten = true;
  program.seconds = program.on_cpu_alone = 0;
  for (int i = 0; i < 5; ++i) program.factorize();
  EXPECT_LE(program.seconds, 2.05 * program.on_cpu_alone);
}

TEST(MatrixRegions, BlocksOfAMatrixHaveOneKey) {
  MatrixRegions regions;
  const std::uint64_t trailing = regions.key_of(block(256, 256, 15744, 15744));
  EXPECT_EQ(regions.key_of(block(512, 256, 15488, 256)), trailing);
  EXPECT_EQ(regions.key_of(block(256, 0, 15744, 256)), trailing) << "the panel before it";
  EXPECT_EQ(regions.key_of(block(0, 0, order, order)), trailing);
}

TEST(MatrixRegions, OtherMatricesHaveOthers) {
  MatrixRegions regions;
  const std::uint64_t one = regions.key_of(block(0, 0, order, 256));
  EXPECT_NE(regions.key_of(block(0, 0, 8000, 256, 8000)), one) << "another leading dimension";
  EXPECT_NE(regions.key_of(block(0, 400, order, 256)), one) << "far away";
  EXPECT_NE(regions.key_of(block(0, 0, order, 1)), one) << "a vector";
  for (int i = 1; i <= 100; ++i) regions.key_of(block(0, 1000 * i, order, 256));
  EXPECT_EQ(regions.key_of(block(0, 100'000, order, 256)), regions.key_of(block(0, 100'001, 100, 10)));
}

}  // namespace
}  // namespace blastoff::decide
