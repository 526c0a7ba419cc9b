// Products of a matrix and a vector: when the decision brings the matrix to the device, and when it stops trying.
#include "decide/matrix_history.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "blas/shape.h"

namespace blastoff::decide {
namespace {

constexpr std::int64_t order = 8000;
constexpr double bytes = 8.0 * order * order;
constexpr double on_cpu = 0.005;
constexpr double on_device = 0.0002;
constexpr double bringing = bytes / 25e9;  // at the rate that is assumed until one has been measured

blas::Call product_of(void* matrix, std::int64_t n = order) {
  static double vector[1];
  blas::Call call;
  call.routine = blas::Routine::dgemv;
  call.m = call.n = n;
  call.alpha = 1;
  void* const addresses[] = {matrix, vector, vector};
  const std::int64_t leading[] = {n, 1, 1};
  blas::shape_operands(call, addresses, leading);
  return call;
}

/// A machine that tracks the contents of a device. The program uses matrices and rewrites them.
class Machine final : public operation::Estimator {
 public:
  Machine() : decider(by_size_and_depth(250)) {}

  /// Some other call has opened the device.
  void open() { decider->observe(product_of(nullptr, 1), {.on_device = true, .operands_kept = true}); }

  std::optional<operation::Estimate> estimate(const operation::Operation&) override {
    ++asked;
    if (busy) return std::nullopt;
    operation::Estimate result;
    (resident ? result.resident : result.missing) = static_cast<std::uint64_t>(bytes);
    return result;
  }

  /// Makes one product; returns true if it ran on the device.
  bool use(const blas::Call& call) {
    if (decider->judge(call, *this) != Refusal::none) {
      seconds += on_cpu;
      decider->observe(call, {.seconds = on_cpu});
      return false;
    }
    const bool brought = !resident || rewritten;
    const double taken = device_seconds + (brought ? bringing : 0);
    seconds += taken;
    resident = kept;
    rewritten = false;
    decider->observe(call, {.on_device = true,
                            .operands_kept = kept,
                            .seconds = taken,
                            .bytes_to_device = brought ? static_cast<std::uint64_t>(bytes) : 0,
                            .bytes_reused = brought ? 0 : static_cast<std::uint64_t>(bytes)});
    return true;
  }

  std::unique_ptr<Decider> decider;
  bool resident = false;   ///< whether the matrix is believed to be on the device
  bool rewritten = false;  ///< whether the program has rewritten it since, unnoticed
  bool busy = false;
  bool kept = true;
  double device_seconds = on_device;
  double seconds = 0;
  int asked = 0;
};

char matrix[2];

TEST(ProductsWithVectors, GoWhereTheirMatrixIs) {
  Machine machine;
  machine.resident = true;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(machine.use(product_of(matrix)));
}

TEST(ProductsWithVectors, BringAMatrixOnceTheTimeLostExceedsItsPrice) {
  Machine machine;
  machine.open();
  int first = 0;
  while (!machine.use(product_of(matrix))) ++first;
  EXPECT_GE(first * on_cpu, bringing);
  EXPECT_LT((first - 1) * on_cpu, bringing);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(machine.use(product_of(matrix)));
}

TEST(ProductsWithVectors, PayForOpeningADevice) {
  Machine machine;
  int first = 0;
  while (!machine.use(product_of(matrix))) ++first;
  EXPECT_GT(first * on_cpu, bringing + MachineModel::assumed_open_seconds - on_cpu);
}

constexpr double short_product = 1e-3;

/// Products that are long enough to be judged by history, and short enough to be settled.
std::unique_ptr<Decider> decider_after(int products) {
  auto decider = by_size_and_depth(250);
  for (int i = 0; i < products; ++i) decider->observe(product_of(matrix), {.seconds = short_product});
  return decider;
}

TEST(ProductsWithVectors, AreSettledOnceTheirTimeIsKnown) {
  EXPECT_EQ(decider_after(15)->settled_calls(product_of(matrix)), 0U);
  const auto decider = decider_after(16);
  EXPECT_EQ(decider->settled_calls(product_of(matrix)), 31U);
  EXPECT_GT(decider->settled_calls(product_of(matrix + 1)), 0U) << "from the rate with other matrices";
  EXPECT_EQ(by_size_and_depth(0)->settled_calls(product_of(matrix)), 0U);
}

TEST(ProductsWithVectors, AreNotSettledIfTheyAreLong) {
  const auto decider = decider_after(16);
  decider->observe(product_of(matrix + 1), {.seconds = 5 * short_product});
  EXPECT_EQ(decider->settled_calls(product_of(matrix + 1)), 0U);
}

TEST(ProductsWithVectors, AreNotSettledWhileADeviceIsOpen) {
  const auto decider = decider_after(16);
  decider->observe(product_of(nullptr, 1), {.on_device = true, .operands_kept = true});
  EXPECT_EQ(decider->settled_calls(product_of(matrix)), 0U);
}

/// Settled products are counted for the matrix, so they delay its copy by a tenth of its price at most.
TEST(ProductsWithVectors, PayForACopyWhileTheyAreSettled) {
  Machine machine;
  const double price = bringing + MachineModel::assumed_open_seconds;
  double spent = 0;
  int judged = 0;
  for (; machine.decider->judge(product_of(matrix), machine) != Refusal::none; ++judged) {
    const std::uint32_t calls = 1 + (judged == 0 ? 0 : machine.decider->settled_calls(product_of(matrix)));
    machine.decider->observe(product_of(matrix), {.seconds = short_product, .calls = calls});
    spent += calls * short_product;
  }
  EXPECT_GE(spent, price);
  EXPECT_LT(spent, 1.1 * price);
  EXPECT_LT(judged, price / short_product / 4);
}

TEST(ProductsWithVectors, OfMatricesUsedSeldomStayOnTheCpu) {
  Machine machine;
  machine.open();
  std::vector<char> places(1000);
  for (char& place : places) EXPECT_FALSE(machine.use(product_of(&place)));
}

TEST(ProductsWithVectors, AreToldApartByAddressAndShape) {
  Machine machine;
  machine.open();
  while (!machine.use(product_of(matrix))) {
  }
  machine.resident = false;
  EXPECT_FALSE(machine.use(product_of(matrix + 1)));
  EXPECT_FALSE(machine.use(product_of(matrix, order - 1)));
}

// The cost of the rule for a program that cannot gain.
TEST(ProductsWithVectors, OfAMatrixRewrittenEveryTimeCostLittle) {
  for (const bool known : {false, true}) {
    Machine machine;
    machine.open();
    machine.resident = true;
    constexpr int calls = 20'000;
    for (int i = 0; i < calls; ++i) {
      machine.rewritten = true;
      if (known) machine.resident = false;  // freed and allocated anew, as events show
      machine.use(product_of(matrix));
    }
    EXPECT_LT(machine.seconds, 1.02 * calls * on_cpu) << known;
  }
}

TEST(ProductsWithVectors, ReturnToAMatrixThatIsNoLongerRewritten) {
  Machine machine;
  machine.open();
  for (int i = 0; i < 100; ++i) {
    machine.rewritten = true;
    machine.use(product_of(matrix));
  }
  int last_on_cpu = 0;
  for (int i = 0; i < 2000; ++i)
    if (!machine.use(product_of(matrix))) last_on_cpu = i;
  EXPECT_LT(last_on_cpu, 200);
}

TEST(ProductsWithVectors, OfAMatrixRewrittenNowAndThenStayOnTheDevice) {
  Machine machine;
  machine.open();
  int on_cpu_calls = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i % 50 == 0) machine.rewritten = true;
    if (!machine.use(product_of(matrix))) ++on_cpu_calls;
  }
  EXPECT_LT(on_cpu_calls, 20);
}

TEST(ProductsWithVectors, LeaveADeviceThatIsNoFaster) {
  Machine machine;
  machine.open();
  machine.device_seconds = 1.2 * on_cpu;
  constexpr int calls = 5000;
  for (int i = 0; i < calls; ++i) machine.use(product_of(matrix));
  EXPECT_LT(machine.seconds, 1.02 * calls * on_cpu);
}

// LAPACK's factorizations use the remainder of a matrix, which is a different matrix each time.
TEST(ProductsWithVectors, OfMatricesUsedOncePauseWhereTheDeviceIsNoFaster) {
  std::vector<char> places(20'000);
  for (const bool faster : {true, false}) {
    Machine machine;
    machine.open();
    for (int i = 0; i < 3; ++i) machine.use(product_of(matrix));  // so that the CPU's speed is known
    machine.resident = true;
    machine.device_seconds = faster ? 0.5 * on_cpu : 3 * on_cpu;
    int offloaded = 0;
    for (char& place : places)
      if (machine.use(product_of(&place))) ++offloaded;
    EXPECT_EQ(offloaded == 20'000, faster);
    EXPECT_LT(machine.seconds, 1.02 * 20'000 * on_cpu);
  }
}

TEST(ProductsWithVectors, LeaveADeviceThatKeepsNothing) {
  Machine machine;
  machine.open();
  machine.kept = false;
  constexpr int calls = 20'000;
  for (int i = 0; i < calls; ++i) machine.use(product_of(matrix));
  EXPECT_LT(machine.seconds, 1.02 * calls * on_cpu);
}

TEST(ProductsWithVectors, StayOnTheDeviceWhileNobodyCanTell) {
  Machine machine;
  machine.open();
  machine.busy = true;
  while (!machine.use(product_of(matrix))) {
  }
  EXPECT_TRUE(machine.use(product_of(matrix)));
}

TEST(ProductsWithVectors, BringMatricesSoonerOverAFasterLink) {
  Machine machine;
  machine.decider->observe(product_of(matrix + 1, 1), {.on_device = true,
                                                       .operands_kept = true,
                                                       .seconds = 1,
                                                       .bytes_to_device = std::uint64_t{1} << 30,
                                                       .transfer_seconds = 0.01});
  EXPECT_FALSE(machine.use(product_of(matrix)));
  EXPECT_TRUE(machine.use(product_of(matrix)));
}

TEST(ProductsWithVectors, OfMatricesThatFitACacheAreSmall) {
  Machine machine;
  machine.resident = true;
  EXPECT_EQ(machine.decider->judge(product_of(matrix, 1900), machine), Refusal::below_min_size);
  EXPECT_EQ(machine.asked, 0);
  EXPECT_EQ(machine.decider->judge(product_of(matrix, 2000), machine), Refusal::none);
}

TEST(ProductsWithVectors, AllGoFromSizeZeroOn) {
  Machine machine;
  EXPECT_EQ(by_size_and_depth(0)->judge(product_of(matrix, 1), machine), Refusal::none);
  EXPECT_EQ(machine.asked, 0);
}

}  // namespace
}  // namespace blastoff::decide
