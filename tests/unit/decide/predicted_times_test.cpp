// Decisions by predicted times, on a machine with a simulated clock.
#include "decide/predicted_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace blastoff::decide {
namespace {

const MachineModel rates = [] {
  MachineModel model;
  model.cpu_flops = 700e9;
  return model;
}();

const LinkRate link(rates);

/// A product with one large matrix, which may stay on the device; its other operands are small.
struct Product {
  double flops = 2e9;
  std::int64_t matrix_elements = 12'500'000;  // 100 MB: 4 ms on the link
  std::int64_t result_elements = 12'500;
};

/// Makes products on the side that is decided, and counts their seconds.
class Machine final : public operation::Estimator {
 public:
  Machine(const Product& product, double on_cpu, double on_device) : Machine(product, on_cpu, on_device, nullptr) {}
  /// With predicted times that have already been learned from other products.
  Machine(const Product& product, double on_cpu, double on_device, PredictedTimes* told)
      : times(told != nullptr ? *told : own_), cpu_seconds(on_cpu), device_seconds(on_device) {
    product_.work.flops = product.flops;
    product_.add({.address = memory,
                  .rows = product.matrix_elements,
                  .columns = 1,
                  .leading_dimension = product.matrix_elements,
                  .element_size = 8});
    product_.add({.address = memory + 1,
                  .rows = product.result_elements,
                  .columns = 1,
                  .leading_dimension = product.result_elements,
                  .element_size = 8,
                  .intent = operation::Intent::write});
  }

  std::optional<operation::Estimate> estimate(const operation::Operation&) override {
    ++asked;
    if (busy) return std::nullopt;
    const std::uint64_t bytes = matrix_bytes() / parts;
    const std::uint64_t there = resident ? bytes : 0;
    return operation::Estimate{.resident = there, .missing = bytes - there, .moved = moves ? there : 0};
  }

  Refusal use() {
    const Refusal refusal = times.judge(product_, *this, nullptr);
    const bool on_device = refusal == Refusal::none;
    const bool brought = on_device && !resident;
    const double taken = on_device ? device_seconds + (brought ? price() : 0) : cpu_seconds;
    seconds += taken;
    resident = on_device ? resident || keeps : resident && !cpu_writes;
    times.observe(product_, {.on_device = on_device,
                             .operands_kept = on_device && keeps,
                             .typical = typical,
                             .seconds = taken,
                             .bytes_to_device = brought ? matrix_bytes() / parts : 0,
                             .bytes_from_device = on_device ? product_.operands()[1].part_bytes() / parts : 0,
                             .bytes_reused = on_device && !brought ? matrix_bytes() / parts : 0});
    return refusal;
  }
  int on_device_of(int count) {
    int on_device = 0;
    for (int i = 0; i < count; ++i) on_device += use() == Refusal::none ? 1 : 0;
    return on_device;
  }

  /// Makes `count` calls; calls whose decision is settled are neither judged nor observed. Returns the number of judged
  /// calls.
  int judged_of(int count) {
    int judged = 0;
    std::uint32_t stands_for = 1;
    for (int i = 0; i < count; ++judged) {
      const Refusal refusal = times.judge(product_, *this, nullptr);
      const bool on_device = refusal == Refusal::none;
      seconds += on_device ? device_seconds : cpu_seconds;
      times.observe(product_, {.on_device = on_device,
                               .seconds = on_device ? device_seconds : cpu_seconds,
                               .bytes_reused = on_device ? matrix_bytes() : 0,
                               .calls = stands_for});
      const std::uint32_t settled = refusal == Refusal::cpu_faster ? times.settled_calls(product_) : 0;
      seconds += settled * cpu_seconds;
      stands_for = 1 + settled;
      i += static_cast<int>(stands_for);
    }
    return judged;
  }
  std::uint32_t settled() { return times.settled_calls(product_); }

  double on_cpu(double taken_by_device) const { return times.cpu_seconds(product_, taken_by_device); }

  std::uint64_t matrix_bytes() const { return product_.operands()[0].part_bytes(); }
  double price() const { return slowness * static_cast<double>(matrix_bytes()) / rates.to_device; }

  PredictedTimes& times;
  double cpu_seconds;
  double device_seconds;
  bool resident = false;
  bool keeps = true;
  bool moves = false;  ///< whether the matrix moves to the device, and no copy of it goes there
  bool busy = false;
  bool typical = true;
  bool cpu_writes = false;  ///< whether the CPU writes the matrix, in a separate call
  double slowness = 1;      ///< the time for bringing the matrix, as a multiple of the model's time
  std::uint64_t parts = 1;  ///< number of devices that share the call and the matrix
  double seconds = 0;
  int asked = 0;

 private:
  static inline char memory[2];
  PredictedTimes own_{rates, link};
  operation::Operation product_;
};

TEST(PredictedTimes, NeedNoTrialWhereNoCpuIsAsFast) {
  Machine machine({.flops = 1e12}, 2, 0.1);
  EXPECT_EQ(machine.use(), Refusal::none);
  EXPECT_EQ(machine.on_device_of(100), 100);
  EXPECT_EQ(machine.asked, 0);
}

TEST(PredictedTimes, TellWhatTheCpuWouldHaveTaken) {
  Machine machine({}, 0.010, 0.002);
  EXPECT_EQ(machine.on_cpu(0.5), 0);  // not known, and a CPU may be as fast as that
  const double least = machine.on_cpu(1e-6);
  EXPECT_GT(least, 1e-6);  // no CPU is as fast as that, so a lower bound is known
  EXPECT_LE(least, 0.010);
  machine.use();
  EXPECT_NEAR(machine.on_cpu(1e-6), 0.010, 1e-6);
}

/// Products like those of HPL: each is a little smaller than the one before it, uses another part of one matrix, and
/// brings all its input.
class Shrinking final : public operation::Estimator {
 public:
  std::optional<operation::Estimate> estimate(const operation::Operation& product) override {
    return operation::Estimate{.missing = product.operands()[0].part_bytes()};
  }

  void make(int calls) {
    for (int i = 0; i < calls; ++i) make(static_cast<std::int64_t>(16000 * (1 - 0.75 * i / calls)), memory + i);
  }

  PredictedTimes times{rates, link};
  double cpu_seconds = 0;
  double device_seconds = 0;
  double longest_on_cpu = 0;

 private:
  void make(std::int64_t n, void* matrix) {
    operation::Operation product;
    product.work.flops = 2.0 * 64 * static_cast<double>(n * n);
    product.add({.address = matrix, .rows = n, .columns = n, .leading_dimension = n, .element_size = 8});
    const auto bytes = product.operands()[0].part_bytes();
    const bool on_device = times.judge(product, *this, nullptr) == Refusal::none;
    const double taken = on_device ? product.work.flops / 5e12 + static_cast<double>(bytes) / rates.to_device
                                   : product.work.flops / 100e9;
    (on_device ? device_seconds : cpu_seconds) += taken;
    if (!on_device) longest_on_cpu = std::max(longest_on_cpu, taken);
    times.observe(
        product,
        {.on_device = on_device, .operands_kept = true, .seconds = taken, .bytes_to_device = on_device ? bytes : 0});
  }

  static inline char memory[400];
};

TEST(PredictedTimes, BeginWithTheRatesOfNeighbours) {
  Shrinking products;
  products.make(400);
  EXPECT_LE(products.cpu_seconds, 0.01 * products.device_seconds + products.longest_on_cpu)
      << "one call tells for all classes, and trials may take a hundredth";
  EXPECT_GT(products.cpu_seconds, 0);
}

TEST(PredictedTimes, FindOutWhereNeighboursMislead) {
  Machine large({.flops = 2e9}, 0.050, 0.004);
  large.on_device_of(20);
  Machine small({.flops = 1.3e9}, 0.0005, 0.004, &large.times);
  EXPECT_EQ(small.use(), Refusal::none) << "as the neighbour";
  small.on_device_of(3000);
  EXPECT_LE(small.on_device_of(100), 2) << "the CPU is faster here";
}

TEST(PredictedTimes, TimeTheCpuOnceAndGoWhereItTakesLess) {
  Machine slow_cpu({}, 0.050, 0.001);
  EXPECT_EQ(slow_cpu.use(), Refusal::not_timed);
  EXPECT_EQ(slow_cpu.on_device_of(100), 100);
  Machine fast_cpu({}, 0.0001, 0.001);
  EXPECT_EQ(fast_cpu.use(), Refusal::not_timed);
  EXPECT_EQ(fast_cpu.use(), Refusal::cpu_faster);
  EXPECT_LE(fast_cpu.on_device_of(1000), 2);
}

TEST(PredictedTimes, BringAMatrixWhenAsMuchHasBeenLostWithoutIt) {
  Machine machine({}, 0.0012, 0.0002);  // a gain of 1 ms a use, against 4 ms
  EXPECT_EQ(machine.use(), Refusal::not_timed);
  int waited = 0;
  while (machine.use() == Refusal::not_reused) ++waited;
  EXPECT_GE(waited, 2);
  EXPECT_LE(waited, 5);
  EXPECT_EQ(machine.on_device_of(1000), 1000) << "it is there";
}

TEST(PredictedTimes, NeverBringWhatCannotPay) {
  Machine machine({}, 0.0012, 0.0002);
  machine.keeps = false;
  const int uses = 2000;
  machine.on_device_of(uses);
  EXPECT_LE(machine.seconds, 2.1 * uses * machine.cpu_seconds);
}

TEST(PredictedTimes, AreWithinTwiceTheBestInHindsightOnRandomSequences) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 engine(seed);
    const double cpu = std::uniform_real_distribution(0.0003, 0.006)(engine);
    const double device = std::uniform_real_distribution(0.0001, 0.002)(engine);
    const double mean = std::uniform_real_distribution(1.0, 30.0)(engine);
    Machine machine({}, cpu, device);
    double best = 0;
    for (int epoch = 0; epoch < 200; ++epoch) {
      machine.resident = false;  // the program has rewritten it
      const int uses = 1 + static_cast<int>(std::exponential_distribution(1 / mean)(engine));
      machine.on_device_of(uses);
      best += std::min(uses * cpu, machine.price() + uses * std::min(cpu, device));
    }
    // Trials may take a hundredth, and the times are learned from the first uses.
    EXPECT_LE(machine.seconds, 2.02 * best + 5 * (cpu + device + machine.price())) << "seed " << seed;
  }
}

TEST(PredictedTimes, AreWithinTwiceTheBestAgainstAnAdversary) {
  for (const double cpu : {0.0005, 0.001, 0.002, 0.0035}) {
    Machine machine({}, cpu, 0.0002);
    const int uses = 5000;
    for (int i = 0; i < uses; ++i)
      if (machine.use() == Refusal::none) machine.resident = false;  // rewritten as soon as it has been brought
    EXPECT_LE(machine.seconds, 2.02 * uses * cpu + 0.02) << cpu;
  }
}

/// As with ranks that share a link; a result that is read is rewritten now and then.
/// The CPU takes 0.2 ms, and the device 0.3. The CPUs of the second model need 10 ms to read the matrix in the device's
/// memory.
class MovedMatrix : public testing::Test {
 protected:
  MovedMatrix() {
    coherent_.cpu_flops = 100e12;
    coherent_.cpu_device_memory_rate = 1e10;
    machine_.moves = true;
    machine_.use();  // times the CPU
    machine_.resident = true;
  }
  MachineModel coherent_ = rates;
  PredictedTimes times_{rates, link};
  Machine machine_{{}, 0.0002, 0.0003, &times_};
};

TEST_F(MovedMatrix, IsUsedThereIfTheCpuReadsItMoreSlowly) {
  EXPECT_EQ(machine_.use(), Refusal::cpu_faster) << "the model does not know how fast the CPU reads there";
  times_.use(coherent_);
  machine_.cpu_seconds = 0.010;
  EXPECT_GT(machine_.on_device_of(200), 195);
}

TEST_F(MovedMatrix, IsUsedByTheCpuIfTheCpuReadsItFastEnough) {
  coherent_.cpu_device_memory_rate = 1e12;
  times_.use(coherent_);
  EXPECT_EQ(machine_.use(), Refusal::cpu_faster);
}

TEST_F(MovedMatrix, IsUsedByTheCpuIfACopyOfItWentThere) {
  times_.use(coherent_);
  machine_.moves = false;
  EXPECT_EQ(machine_.use(), Refusal::cpu_faster);
}

TEST_F(MovedMatrix, IsUsedByTheCpuAgainIfThatTakesLessTimeThanTheModelSays) {
  times_.use(coherent_);
  EXPECT_EQ(machine_.use(), Refusal::none);
  machine_.on_device_of(200);  // a trial of the CPU among them
  EXPECT_EQ(machine_.on_device_of(20), 0);
}

TEST(PredictedTimes, DoNotTakeSlowBringingForSlowWork) {
  for (const std::uint64_t parts : {1U, 8U}) {
    Machine machine({}, 0.0040, 0.0020);
    machine.cpu_writes = true;
    machine.slowness = 8;
    machine.parts = parts;
    machine.on_device_of(20);
    int on_device = 0;
    for (int round = 0; round < 10; ++round) {
      machine.resident = false;
      on_device += machine.on_device_of(200);
    }
    EXPECT_GE(on_device, 1600) << parts;
  }
}

TEST(PredictedTimes, InvestByWhatBringingReallyTakes) {
  Machine machine({}, 0.0040, 0.0020);
  machine.slowness = 8;
  const int uses = 3000;
  for (int i = 0; i < uses; ++i) {
    machine.use();
    if (i % 4 == 0) machine.resident = false;  // it never pays: 32 ms for four uses
  }
  EXPECT_LE(machine.seconds, 1.5 * uses * machine.cpu_seconds);
}

constexpr Product small_product{.flops = 5e5, .matrix_elements = 4096, .result_elements = 4096};

TEST(PredictedTimes, SettleWhatTheCpuMakesAsFast) {
  Machine machine(small_product, 5e-6, 40e-6);
  machine.resident = true;
  EXPECT_EQ(machine.settled(), 0U) << "nothing is known";
  const int judged = machine.judged_of(100'000);
  EXPECT_LT(judged, 100'000 / 24);
  EXPECT_LE(machine.seconds, 100'000 * 5e-6 * 1.02) << "trials may take a hundredth";
  EXPECT_GE(machine.seconds, 100'000 * 5e-6 * 1.005) << "and are made";
}

TEST(PredictedTimes, SettleNothingThatDependsOnWhereMatricesAreOrIsLong) {
  Machine there(Product{}, 5e-3, 1e-3);
  there.on_device_of(200);
  EXPECT_EQ(there.settled(), 0U) << "the device is faster where the matrix is";
  Machine slow(small_product, 2e-4, 1e-2);
  slow.on_device_of(200);
  EXPECT_EQ(slow.settled(), 0U) << "to judge it costs nothing";
}

TEST(PredictedTimes, NoticeThatTheDeviceHasBecomeFasterForWhatWasSettled) {
  Machine machine(small_product, 5e-6, 40e-6);
  machine.resident = true;
  machine.judged_of(10'000);
  machine.device_seconds = 1e-6;
  machine.judged_of(100'000);
  EXPECT_GT(machine.on_device_of(100), 95);
}

TEST(PredictedTimes, NoticeThatTheCpuHasBecomeFaster) {
  Machine machine({}, 0.020, 0.0040);
  machine.on_device_of(50);
  machine.cpu_seconds = 0.0029;  // other threads have ended
  machine.device_seconds = 0.0050;
  machine.on_device_of(2000);
  EXPECT_LE(machine.on_device_of(100), 5);
}

TEST(PredictedTimes, NoticeThatTheDeviceHasBecomeFaster) {
  Machine machine({}, 0.0010, 0.0040);
  machine.resident = true;
  machine.on_device_of(50);
  EXPECT_LE(machine.on_device_of(100), 3);
  machine.device_seconds = 0.0003;
  machine.on_device_of(2000);
  EXPECT_GE(machine.on_device_of(100), 95);
}

TEST(PredictedTimes, LearnNothingFromCallsForWhichTheDeviceWasNotReady) {
  Machine machine({}, 0.0020, 0.0002);
  machine.resident = true;
  machine.on_device_of(3);
  machine.device_seconds = 0.5;
  machine.typical = false;
  machine.on_device_of(16);
  machine.device_seconds = 0.0002;
  machine.typical = true;
  EXPECT_EQ(machine.on_device_of(100), 100);
}

TEST(PredictedTimes, AreNotUpsetByOneSlowCall) {
  Machine machine({}, 0.0020, 0.0002);
  machine.resident = true;
  machine.on_device_of(20);
  machine.device_seconds = 5;
  machine.use();
  machine.device_seconds = 0.0002;
  EXPECT_EQ(machine.on_device_of(100), 100);
}

TEST(PredictedTimes, LearnNothingFromTheFirstTwoCallsOnTheDevice) {
  Machine machine({}, 0.0020, 0.0002);
  machine.resident = true;
  machine.device_seconds = 5;
  while (machine.on_device_of(1) == 0) {
  }
  while (machine.on_device_of(1) == 0) {
  }
  machine.device_seconds = 0.0002;
  EXPECT_EQ(machine.on_device_of(100), 100);
}

TEST(PredictedTimes, ExpectWhatTheLatestCallsFoundWhereNobodyCanTell) {
  Machine machine({}, 0.0012, 0.0002);
  machine.on_device_of(20);
  ASSERT_TRUE(machine.resident);
  machine.busy = true;
  EXPECT_EQ(machine.on_device_of(100), 100);
}

operation::Operation like_products_of_a_machine(double flops = 2e9) {
  operation::Operation product;
  product.work.flops = flops;
  product.add({.rows = 12'500'000, .columns = 1, .leading_dimension = 12'500'000, .element_size = 8});
  return product;
}

double measured(const Machine& machine, double flops = 2e9) {
  return machine.times.measured_cpu_seconds(like_products_of_a_machine(flops));
}

TEST(PredictedTimes, KnowOnlyWhatHasBeenMeasured) {
  Machine machine({}, 0.1, 0.001);
  EXPECT_EQ(measured(machine), 0) << "what no CPU falls below is no measurement";
  ASSERT_EQ(machine.use(), Refusal::not_timed);
  EXPECT_NEAR(measured(machine), 0.1, 1e-6);
  EXPECT_NEAR(measured(machine, 2e9 * 1.5), 0.15, 1e-6) << "by a neighbour";
  EXPECT_EQ(measured(machine, 2e12), 0) << "too far away";
}

TEST(PredictedTimes, AreThoseOfAnEarlierRunUntilTheCpuIsTimed) {
  Machine earlier({}, 0.1, 0.001);
  ASSERT_EQ(earlier.use(), Refusal::not_timed);
  ASSERT_EQ(earlier.times.cpu_rates().size(), 1U);
  Machine later({}, 0.2, 0.001);
  later.times.recall(earlier.times.cpu_rates());
  EXPECT_EQ(later.use(), Refusal::none) << "the CPU's time is known";
  EXPECT_NEAR(measured(later), 0.1, 1e-6);
  EXPECT_TRUE(later.times.cpu_rates().empty()) << "this run has not timed it";
}

TEST(PredictedTimes, AreMeasuredAsTheMeanOfCallsThatNothingDisturbs) {
  PredictedTimes times(rates, link);
  const operation::Operation product = like_products_of_a_machine();
  times.observe(product, {.typical = false, .seconds = 0.1});
  EXPECT_NEAR(times.measured_cpu_seconds(product), 0.1, 1e-6) << "better than nothing";
  for (const double seconds : {0.04, 0.06, 0.08}) times.observe(product, {.seconds = seconds});
  EXPECT_NEAR(times.measured_cpu_seconds(product), 0.06, 1e-6);
}

TEST(PredictedTimes, ForgetCallsThatWereDisturbedWhenOthersAreKnown) {
  PredictedTimes times(rates, link);
  const operation::Operation product = like_products_of_a_machine();
  times.observe(product, {.typical = false, .seconds = 0.4});
  EXPECT_NEAR(times.cpu_seconds(product, 0), 0.4, 1e-6) << "better than nothing";
  times.observe(product, {.seconds = 0.04});
  EXPECT_NEAR(times.cpu_seconds(product, 0), 0.04, 1e-6);
  times.observe(product, {.typical = false, .seconds = 0.4});
  EXPECT_NEAR(times.cpu_seconds(product, 0), 0.04, 1e-6);
}

TEST(PredictedTimes, OfAnEarlierRunCountMoreThanCallsThatWereDisturbed) {
  PredictedTimes earlier(rates, link);
  const operation::Operation product = like_products_of_a_machine();
  earlier.observe(product, {.seconds = 0.04});
  PredictedTimes times(rates, link);
  times.recall(earlier.cpu_rates());
  times.observe(product, {.typical = false, .seconds = 0.4});
  EXPECT_NEAR(times.measured_cpu_seconds(product), 0.04, 1e-6);
  EXPECT_NEAR(times.cpu_seconds(product, 0), 0.04, 1e-6);
}

TEST(PredictedTimes, OfAnEarlierRunCountAsSixteenCalls) {
  const operation::Operation product = like_products_of_a_machine();
  PredictedTimes times(rates, link);
  PredictedTimes earlier(rates, link);
  earlier.observe(product, {.seconds = 0.04});
  times.recall(earlier.cpu_rates());
  times.observe(product, {.seconds = 0.21});
  EXPECT_NEAR(times.measured_cpu_seconds(product), 0.05, 1e-6);
  for (int i = 1; i < 1600; ++i) times.observe(product, {.seconds = 0.21});
  EXPECT_NEAR(times.measured_cpu_seconds(product), 0.21, 0.01);
}

TEST(PredictedTimes, OnTheCpuAloneAreNotThoseOfCallsBesideADevice) {
  PredictedTimes times(rates, link);
  const operation::Operation product = like_products_of_a_machine();
  times.observe(product, {.beside_device = true, .seconds = 0.04});
  EXPECT_EQ(times.seconds_on_cpu_alone(product), 0) << "the other ranks leave it their cores";
  EXPECT_TRUE(times.cpu_rates().empty()) << "nor does it tell later runs";
  times.observe(product, {.seconds = 0.06});
  times.observe(product, {.beside_device = true, .seconds = 0.04});
  EXPECT_NEAR(times.seconds_on_cpu_alone(product), 0.06, 1e-6);
  EXPECT_NEAR(times.measured_cpu_seconds(product), 0.14 / 3, 1e-6) << "decisions compare with the CPU as it is";
  ASSERT_EQ(times.cpu_rates().size(), 1U);
  EXPECT_NEAR(times.cpu_rates().front().seconds_per_flop, 0.06 / product.work.flops, 1e-15);
}

TEST(PredictedTimes, OnTheCpuAloneAreThoseOfAnEarlierRunOrOfANeighbour) {
  const operation::Operation product = like_products_of_a_machine();
  PredictedTimes earlier(rates, link);
  earlier.observe(product, {.seconds = 0.06});
  PredictedTimes times(rates, link);
  times.recall(earlier.cpu_rates());
  for (int i = 0; i < 100; ++i) times.observe(product, {.beside_device = true, .seconds = 0.04});
  EXPECT_NEAR(times.seconds_on_cpu_alone(product), 0.06, 1e-6);
  const operation::Operation larger = like_products_of_a_machine(4e9);
  earlier.observe(larger, {.beside_device = true, .seconds = 0.08});
  EXPECT_NEAR(earlier.seconds_on_cpu_alone(larger), 0.12, 1e-6) << "by a neighbour";
}

}  // namespace
}  // namespace blastoff::decide
