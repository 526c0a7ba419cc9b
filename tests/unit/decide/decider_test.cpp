#include "decide/decider.h"

#include <vector>

#include <gtest/gtest.h>

#include "blas/shape.h"
#include "decide/machine_model.h"
#include "decide/measured_times.h"

namespace blastoff::decide {
namespace {

blas::Call call_of(blas::Routine routine, std::int64_t m, std::int64_t n, std::int64_t k,
                   blas::Side side = blas::Side::left) {
  blas::Call call;
  call.routine = routine;
  call.side = side;
  call.m = m;
  call.n = n;
  call.k = k;
  void* addresses[3] = {};
  std::int64_t leading_dimensions[3] = {};
  const std::size_t operands = row(routine).kind == blas::Kind::gemm || row(routine).kind == blas::Kind::symm ? 3 : 2;
  blas::shape_operands(call, {addresses, operands}, {leading_dimensions, operands});
  return call;
}

/// Fails if it is asked: the rule by size and depth needs no estimates.
class NotAsked final : public operation::Estimator {
 public:
  std::optional<operation::Estimate> estimate(const operation::Operation&) override {
    ADD_FAILURE() << "residency was asked";
    return std::nullopt;
  }
} not_asked;

Refusal judge(std::int64_t min_size, const blas::Call& call) {
  return by_size_and_depth(min_size)->judge(call, not_asked);
}

Observation kept(std::uint64_t brought, std::uint64_t found) {
  return {.on_device = true, .operands_kept = true, .bytes_to_device = brought, .bytes_reused = found};
}

TEST(Decider, TakesCallsFromTheAverageSizeOn) {
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 250, 250, 250)), Refusal::none);
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 250, 250, 249)), Refusal::below_min_size);
  EXPECT_EQ(by_size_and_depth(250)->floor_volume(), 250.0 * 250.0 * 250.0);
}

TEST(Decider, LeavesFlatProductsToTheCpu) {
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 3000, 3000, 32)), Refusal::too_shallow);
  EXPECT_EQ(judge(250, call_of(blas::Routine::zgemm, 3000, 3000, 63)), Refusal::none);
  EXPECT_EQ(judge(250, call_of(blas::Routine::dsyrk, 3000, 3000, 32)), Refusal::too_shallow);
  // Devices are fast for small results of long sums.
  EXPECT_EQ(judge(250, call_of(blas::Routine::dgemm, 32, 2400, 93536)), Refusal::none);
}

/// All operands are on the device.
class AllThere final : public operation::Estimator {
 public:
  std::optional<operation::Estimate> estimate(const operation::Operation&) override { return operation::Estimate(); }
};

TEST(Decider, ByTimeTimesFlatProductsToo) {
  MachineModel model;
  model.device_flops = 1e13;
  AllThere there;
  const auto after_a_call_of = [&](double seconds) {
    const blas::Call call = call_of(blas::Routine::dgemm, 4000, 4000, 32);
    const auto decider = by_time(250, model);
    EXPECT_EQ(decider->judge(call, there), Refusal::not_timed);
    decider->observe(call, {.seconds = seconds});
    return decider->judge(call, there);
  };
  EXPECT_EQ(after_a_call_of(0.02), Refusal::none) << "one core";
  EXPECT_EQ(after_a_call_of(0.002), Refusal::cpu_faster) << "sixteen: the result alone takes 5 ms";
  EXPECT_EQ(by_time(250, model)->judge(call_of(blas::Routine::dgemm, 4000, 4000, 15), there), Refusal::too_shallow);
}

/// A machine whose CPU has this rate and whose device needs this time for any call.
MachineModel machine(double device_seconds, double cpu_rate = 0) {
  MachineModel model;
  model.device_seconds = device_seconds;
  const RatePoint points[] = {{1e6, cpu_rate}};
  if (cpu_rate > 0) model.cpu_rates.set({Family::gemm, Precision::z}, points);
  return model;
}

TEST(Decider, ByTimeLeavesAloneWhatCannotGainOnThisMachine) {
  // 40 us of a core with 45 GFLOP/s, in complex products of 8 operations each.
  EXPECT_DOUBLE_EQ(by_time({}, machine(40e-6))->floor_volume(), 40e-6 * 45e9 / 8);
  EXPECT_DOUBLE_EQ(by_time({}, machine(400e-6))->floor_volume(), 400e-6 * 45e9 / 8);
  EXPECT_NEAR(by_time({}, machine(40e-6, 9e9))->floor_volume(), 40e-6 * 9e9 / 8, 1) << "a slow core";
  EXPECT_DOUBLE_EQ(by_time({}, machine(40e-6, 500e9))->floor_volume(), 40e-6 * 45e9 / 8) << "one thread may call it";
  const auto decider = by_time({}, machine(400e-6));
  decider->use(machine(40e-6));
  EXPECT_DOUBLE_EQ(decider->floor_volume(), 40e-6 * 45e9 / 8) << "of a better model";
  const auto given = by_time(100, machine(400e-6));
  given->use(machine(40e-6));
  EXPECT_EQ(given->floor_volume(), 1e6) << "what the user says";
  EXPECT_EQ(by_time(0, machine(40e-6))->floor_volume(), 0);
}

TEST(Decider, ByTimeDecidesAboveTheFloorWhereverTheSizeIsGiven) {
  AllThere there;
  const MachineModel model = machine(40e-6);
  const blas::Call call = call_of(blas::Routine::zgemm, 200, 200, 200);  // 64 million operations
  for (const std::optional<std::int64_t> min_size : {std::optional<std::int64_t>{}, std::optional<std::int64_t>{100}}) {
    for (const bool slow_cpu : {true, false}) {
      const auto decider = by_time(min_size, model);
      decider->observe(call, {.seconds = slow_cpu ? 1.4e-3 : 2e-5});
      EXPECT_EQ(decider->judge(call, there), slow_cpu ? Refusal::none : Refusal::cpu_faster);
    }
  }
  EXPECT_EQ(by_time(201, model)->judge(call, there), Refusal::below_min_size);
  EXPECT_EQ(by_time(0, model)->judge(call, there), Refusal::none) << "everything";
}

TEST(Decider, ByTimeAsksNobodyAboutVectorsForWhichTheDeviceTakesLonger) {
  const auto decider = by_time({}, machine(40e-6));
  const blas::Call product = call_of(blas::Routine::dgemv, 400, 400, 1);
  decider->observe(product, {.seconds = 2e-5});
  EXPECT_EQ(decider->judge(product, not_asked), Refusal::not_there);
}

/// A matrix of which the device has this many of 1000 bytes.
class PartlyThere final : public operation::Estimator {
 public:
  explicit PartlyThere(std::uint64_t resident) : resident_(resident) {}
  std::optional<operation::Estimate> estimate(const operation::Operation&) override {
    return operation::Estimate{.resident = resident_, .missing = 1000 - resident_};
  }

 private:
  const std::uint64_t resident_;
};

TEST(Decider, OnlyMovesNumbersWhereTheyAre) {
  operation::Operation exchange = call_of(blas::Routine::dgemv, 4000, 4000, 1);
  exchange.work = {.volume = 6.4e7, .memory_bound = true};
  const MachineModel model = machine(40e-6);
  for (const bool timed : {true, false}) {
    const auto decider = timed ? by_time({}, model) : by_size_and_depth(250);
    const auto judged = [&](std::uint64_t resident) {
      PartlyThere there(resident);
      return decider->judge(exchange, there);
    };
    for (int call = 0; call < 200; ++call) {
      EXPECT_EQ(judged(0), Refusal::not_there);
      decider->observe(exchange, {.seconds = 0.1});  // it is never brought, however long the CPU takes
    }
    EXPECT_EQ(judged(900), Refusal::not_there);
    EXPECT_EQ(judged(960), Refusal::none);
    EXPECT_EQ(judged(1000), Refusal::none);
    exchange.work.volume = 1000;
    EXPECT_EQ(decider->judge(exchange, not_asked), Refusal::below_min_size);
    exchange.work.volume = 6.4e7;
  }
}

TEST(Decider, ByTimeDividesASharedDeviceAmongItsProcesses) {
  AllThere there;
  const MachineModel alone = machine(40e-6);
  const blas::Call call =
      call_of(blas::Routine::zgemm, 400, 400, 400);  // 51 us on the device, if this is its own model
  const auto judged_by = [&](const MachineModel& model) {
    const auto decider = by_time({}, model);
    decider->observe(call, {.seconds = 5e-4});
    return decider->judge(call, there);
  };
  EXPECT_EQ(judged_by(alone), Refusal::none);
  EXPECT_EQ(judged_by(alone.shared_by(16)), Refusal::cpu_faster);
  EXPECT_DOUBLE_EQ(alone.shared_by(16).floor_volume(), alone.floor_volume()) << "its answers take no longer";
}

TEST(Decider, CountsTheOrderOfATriangle) {
  EXPECT_EQ(judge(250, call_of(blas::Routine::dtrsm, 32, 90000, 32)), Refusal::too_shallow);
  EXPECT_EQ(judge(250, call_of(blas::Routine::dtrsm, 600, 600, 600, blas::Side::right)), Refusal::none);
}

TEST(Decider, TakesEverythingFromZeroOn) {
  EXPECT_EQ(judge(0, call_of(blas::Routine::dgemm, 1, 1, 1)), Refusal::none);
  EXPECT_EQ(judge(0, call_of(blas::Routine::sgemm, 4000, 4000, 1)), Refusal::none);
}

/// The number of offloaded calls among `calls` products that each copy `brought` bytes to the device and find `found`
/// bytes there.
int offloaded_of(int calls, std::uint64_t brought, std::uint64_t found, const blas::Call& call) {
  const auto decider = by_size_and_depth(250);
  int offloaded = 0;
  for (int i = 0; i < calls; ++i) {
    if (decider->judge(call, not_asked) != Refusal::none) continue;
    ++offloaded;
    decider->observe(call, kept(brought, found));
  }
  return offloaded;
}

TEST(Decider, GoesOnWithNarrowProductsThatFindTheirMatrices) {
  EXPECT_EQ(offloaded_of(1000, 4096, 1 << 30, call_of(blas::Routine::dgemm, 32, 2400, 93536)), 1000);
}

TEST(Decider, PausesNarrowProductsThatBringTheirMatricesAnew) {
  // Trials of 8, 2, 2, ... between pauses of 64, 128, ...
  EXPECT_EQ(offloaded_of(1000, 1 << 30, 4096, call_of(blas::Routine::dgemm, 32, 2400, 93536)), 8 + 2 + 2 + 2 + 2);
  EXPECT_EQ(offloaded_of(1000, 1 << 30, 0, call_of(blas::Routine::dgemm, 1000, 1000, 1000)), 1000);
}

TEST(Decider, TriesNarrowProductsAgain) {
  const auto decider = by_size_and_depth(250);
  const blas::Call call = call_of(blas::Routine::dgemm, 32, 2400, 93536);
  for (int i = 0; i < 8; ++i) decider->observe(call, kept(1 << 30, 0));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(decider->judge(call, not_asked), Refusal::not_reused);
  EXPECT_EQ(decider->judge(call, not_asked), Refusal::none);
  for (int i = 0; i < 2; ++i) decider->observe(call, kept(0, 1 << 30));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(decider->judge(call, not_asked), Refusal::none);
}

TEST(Decider, LearnsNothingAboutReuseFromCallsThatKeepNothing) {
  const auto decider = by_size_and_depth(250);
  const blas::Call call = call_of(blas::Routine::dgemm, 32, 2400, 93536);
  for (int i = 0; i < 8; ++i) decider->observe(call, {.seconds = 1});
  for (int i = 0; i < 8; ++i) decider->observe(call, {.on_device = true, .seconds = 1, .bytes_to_device = 1 << 30});
  EXPECT_EQ(decider->judge(call, not_asked), Refusal::none);
}

/// A transform of 16 MB, as large as a product of order 1000.
operation::Operation with_shape(std::uint64_t shape) {
  static std::vector<char> memory(1);
  operation::Operation operation;
  operation.work = {.flops = 1e9, .volume = 1e9, .depth = 1000};
  operation.shape = shape;
  operation.add({.address = memory.data(),
                 .rows = 1 << 20,
                 .columns = 1,
                 .leading_dimension = 1 << 20,
                 .element_size = 16,
                 .intent = operation::Intent::update});
  return operation;
}

/// Executes `count` operations of a shape, with the given times on the CPU and on the device, and returns how many of
/// them ran on the device.
int offloaded_with(Decider& decider, std::uint64_t shape, int count, double cpu_seconds, double device_seconds) {
  const operation::Operation operation = with_shape(shape);
  int offloaded = 0;
  for (int i = 0; i < count; ++i) {
    const bool on_device = decider.judge(operation, not_asked) == Refusal::none;
    offloaded += on_device ? 1 : 0;
    decider.observe(operation, {.on_device = on_device, .seconds = on_device ? device_seconds : cpu_seconds});
  }
  return offloaded;
}

TEST(DeciderByTime, TimesTheCpuFirst) {
  const auto decider = by_size_and_depth(250);
  EXPECT_EQ(decider->judge(with_shape(5), not_asked), Refusal::not_timed);
  EXPECT_EQ(offloaded_with(*decider, 5, 1000, 0.1, 0.01), 1000 - MeasuredTimes::cpu_trial);
  EXPECT_EQ(decider->judge(with_shape(6), not_asked), Refusal::not_timed) << "another shape";
}

TEST(DeciderByTime, LeavesToTheCpuWhatTheCopiesAloneWouldTake) {
  const auto decider = by_size_and_depth(250);
  EXPECT_EQ(offloaded_with(*decider, 5, 1000, 1e-4, 1e-9), 0);
  EXPECT_EQ(decider->judge(with_shape(5), not_asked), Refusal::cpu_faster);
}

TEST(DeciderByTime, GoesBackToAFasterCpuAndTriesAgainRarely) {
  const auto decider = by_size_and_depth(250);
  EXPECT_EQ(offloaded_with(*decider, 5, 1000, 0.01, 0.02),
            2 * MeasuredTimes::device_trial);  // five lose 0.05 s, a hundredth of 500 on the CPU
  EXPECT_EQ(offloaded_with(*decider, 7, 200, 0.01, 0.005), 200 - MeasuredTimes::cpu_trial);
  const int before = offloaded_with(*decider, 7, 200, 0.01, 0.02);  // the link is shared now
  EXPECT_LT(before, 2 * MeasuredTimes::longest_trial);
}

TEST(DeciderByTime, AsksForNoTimeWhereEverythingIsOffloaded) {
  EXPECT_EQ(by_size_and_depth(0)->judge(with_shape(5), not_asked), Refusal::none);
  EXPECT_EQ(by_size_and_depth(1001)->judge(with_shape(5), not_asked), Refusal::below_min_size);
}

TEST(DeciderByTime, OnTheCpuAloneAShapeTakesTheMeanWithoutTheFirstAndWithoutThoseBesideADevice) {
  const operation::Operation operation = with_shape(5);
  const auto decider = by_size_and_depth(250);
  for (const double seconds : {0.5, 0.1, 0.14}) decider->observe(operation, {.seconds = seconds});
  decider->observe(operation, {.beside_device = true, .seconds = 0.05});
  decider->observe(operation, {.typical = false, .seconds = 0.7});
  EXPECT_NEAR(decider->seconds_on_cpu_alone(operation), 0.12, 1e-6);
  const auto later = by_size_and_depth(250);
  later->recall(decider->cpu_rates());
  for (int i = 0; i < 3; ++i) later->observe(operation, {.beside_device = true, .seconds = 0.05});
  EXPECT_NEAR(later->seconds_on_cpu_alone(operation), 0.12, 1e-6) << "by the earlier run";
  EXPECT_TRUE(later->cpu_rates().empty());
  const auto beside = by_size_and_depth(250);
  beside->observe(operation, {.beside_device = true, .seconds = 0.05});
  EXPECT_EQ(beside->seconds_on_cpu_alone(operation), 0) << "not known";
}

TEST(DeciderByTime, LeavesShapesToTheCpuForWhichThereIsNoRoom) {
  const auto decider = by_size_and_depth(250);
  int untimed = 0;
  for (std::uint64_t shape = 1; shape < 2000; ++shape)
    untimed += decider->judge(with_shape(shape), not_asked) == Refusal::not_timed ? 1 : 0;
  EXPECT_EQ(untimed, 512);
  EXPECT_EQ(decider->judge(with_shape(1), not_asked), Refusal::not_timed);
}

}  // namespace
}  // namespace blastoff::decide
