// Compares the rule by predicted times with the best plan in hindsight, on many matrices, by the simulated device's
// clock.
//
// Theorem. Assume that the times of a class on the CPU and on the device do not change. Let OPT be the least time of
// all plans that know the whole sequence: for each matrix, between two rewritings by the CPU, either all uses run on
// the CPU, or the matrix is brought at its first use and all uses run on the device. Then the rule takes at most
//     2 (1 + 0.01) OPT  +  for each matrix the price of bringing it once  +  for each class two calls on either side.
// Reasons: a matrix is brought only after as much time has been lost, trials may take a hundredth, the sequence may end
// just after the price has been paid, and the times of a class are learned from its first calls or its neighbours'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "decide/predicted_times.h"
#include "device/simulated/clock.h"

namespace blastoff::decide {
namespace {

using device::simulated::Clock;
using device::simulated::Rates;

/// The size of a matrix in bytes, and the number of operations of its products; results are small.
struct Matrix {
  double bytes = 0;
  double flops = 0;
};

class Machine final : public operation::Estimator {
 public:
  Machine(const Rates& rates, const std::vector<Matrix>& matrices)
      : clock(rates),
        model_(model_of(rates)),
        link_(model_),
        times_(model_, link_),
        memory_(matrices.size()),
        states_(matrices.size()) {
    for (std::size_t i = 0; i < matrices.size(); ++i) states_[i].operation = product_of(matrices[i], &memory_[i]);
  }

  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override {
    const bool there = states_[index_of(operation)].resident;
    const auto bytes = static_cast<std::uint64_t>(bytes_of(operation));
    return operation::Estimate{.resident = there ? bytes : 0, .missing = there ? 0 : bytes};
  }

  Refusal use(std::size_t matrix) {
    State& state = states_[matrix];
    ++state.uses;
    const Refusal refusal = times_.judge(state.operation, *this, nullptr);
    const bool on_device = refusal == Refusal::none;
    const double bytes = on_device && !state.resident ? bytes_of(state.operation) : 0;
    const double seconds =
        on_device ? on_device_seconds(state) + clock.rates().copy_seconds(bytes) : cpu_seconds(state);
    clock.advance(seconds);
    state.resident = state.resident || on_device;
    times_.observe(state.operation, {.on_device = on_device,
                                     .operands_kept = true,
                                     .seconds = seconds,
                                     .bytes_to_device = static_cast<std::uint64_t>(bytes)});
    return refusal;
  }

  /// The CPU writes the matrix anew.
  void rewrite(std::size_t matrix) {
    best_ += best_of(states_[matrix]);
    states_[matrix].uses = 0;
    states_[matrix].resident = false;
  }
  bool resident(std::size_t matrix) const { return states_[matrix].resident; }

  /// Called at the end: compares the rule's time with the bound of the theorem above.
  void expect_within_the_bound(const char* what, unsigned seed) {
    double constant = 0;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      rewrite(i);
      const double price = clock.rates().copy_seconds(bytes_of(states_[i].operation));
      // Each matrix may be a class of its own.
      constant += price + 2 * (cpu_seconds(states_[i]) + on_device_seconds(states_[i]) + price);
    }
    EXPECT_LE(clock.seconds(), 2 * 1.01 * best_ + constant) << what << ", seed " << seed << ": best " << best_;
  }

  double best() const { return best_; }

  Clock clock;

 private:
  struct State {
    operation::Operation operation;
    int uses = 0;
    bool resident = false;
  };

  static MachineModel model_of(const Rates& rates) {
    MachineModel model;
    model.to_device = model.from_device = rates.link;
    model.device_seconds = rates.launch;
    model.device_flops = rates.device;
    model.cpu_flops = 2 * rates.cpu;
    return model;
  }
  static operation::Operation product_of(const Matrix& matrix, void* address) {
    operation::Operation product;
    product.work.flops = matrix.flops;
    const auto elements = static_cast<std::int64_t>(matrix.bytes / 8);
    product.add({.address = address, .rows = elements, .columns = 1, .leading_dimension = elements, .element_size = 8});
    return product;
  }
  std::size_t index_of(const operation::Operation& operation) const {
    return static_cast<std::size_t>(static_cast<const char*>(operation.operands()[0].address) - memory_.data());
  }
  static double bytes_of(const operation::Operation& operation) {
    return static_cast<double>(operation.operands()[0].part_bytes());
  }
  double cpu_seconds(const State& state) const { return clock.rates().cpu_seconds(state.operation.work.flops); }
  double on_device_seconds(const State& state) const {
    return clock.rates().device_seconds(state.operation.work.flops);
  }
  double best_of(const State& state) const {
    const double price = clock.rates().copy_seconds(bytes_of(state.operation));
    return std::min(state.uses * cpu_seconds(state), price + state.uses * on_device_seconds(state));
  }

  MachineModel model_;
  LinkRate link_;
  PredictedTimes times_;
  std::vector<char> memory_;
  std::vector<State> states_;
  double best_ = 0;
};

constexpr Rates rates{.link = 25e9, .device = 10e12, .cpu = 500e9, .launch = 50e-6};

/// Matrices from those whose products gain on the device even if everything must be brought, to those whose products
/// are slower there even if everything is present.
std::vector<Matrix> matrices_of(std::mt19937& engine, std::size_t count) {
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < count; ++i) {
    const double bytes = std::exp2(std::uniform_real_distribution(20.0, 29.0)(engine));
    matrices.push_back({bytes, bytes * std::exp2(std::uniform_real_distribution(-4.0, 6.0)(engine))});
  }
  return matrices;
}

/// `play` makes the uses of one sequence.
void try_sequences(const char* what, std::size_t matrices, const std::function<void(Machine&, std::mt19937&)>& play) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 engine(seed);
    const auto machine = std::make_unique<Machine>(rates, matrices_of(engine, matrices));
    play(*machine, engine);
    machine->expect_within_the_bound(what, seed);
  }
}

TEST(Investment, IsWithinTwiceTheBestOnRandomSequences) {
  for (const std::size_t matrices : {1U, 3U, 40U, 300U}) {
    for (const double rewritten : {0.0, 0.01, 0.2}) {
      try_sequences("random", matrices, [&](Machine& machine, std::mt19937& engine) {
        for (int i = 0; i < 3000; ++i) {
          const std::size_t matrix = engine() % matrices;
          machine.use(matrix);
          if (std::generate_canonical<double, 32>(engine) < rewritten) machine.rewrite(engine() % matrices);
        }
      });
    }
  }
}

TEST(Investment, IsWithinTwiceTheBestInBursts) {
  try_sequences("bursts", 60, [](Machine& machine, std::mt19937& engine) {
    for (int i = 0; i < 150; ++i) {
      const std::size_t matrix = engine() % 60;
      for (auto uses = 1 + engine() % 40; uses > 0; --uses) machine.use(matrix);
      machine.rewrite(matrix);
    }
  });
}

TEST(Investment, IsWithinTwiceTheBestWhereMatricesAreRewrittenAsSoonAsTheyAreThere) {
  for (const std::size_t matrices : {1U, 50U}) {
    try_sequences("rewritten at once", matrices, [&](Machine& machine, std::mt19937& engine) {
      for (int i = 0; i < 3000; ++i) {
        const std::size_t matrix = engine() % matrices;
        machine.use(matrix);
        if (machine.resident(matrix)) machine.rewrite(matrix);
      }
    });
  }
}

TEST(Investment, IsWithinTwiceTheBestWhereNoMatrixIsUsedAgainOnceItIsThere) {
  try_sequences("not used again", 200, [](Machine& machine, std::mt19937&) {
    for (std::size_t matrix = 0; matrix < 200; ++matrix)
      for (int i = 0; i < 100 && !machine.resident(matrix); ++i) machine.use(matrix);
  });
}

TEST(Investment, IsMadeForEachOfManyMatricesUsedInTurn) {
  constexpr std::size_t matrices = 400;
  // A use gains 1.4 ms, and bringing takes 4 ms.
  Machine machine(rates, std::vector<Matrix>(matrices, Matrix{100e6, 0.8e9}));
  for (int round = 0; round < 30; ++round)
    for (std::size_t matrix = 0; matrix < matrices; ++matrix) machine.use(matrix);
  std::size_t there = 0;
  for (std::size_t matrix = 0; matrix < matrices; ++matrix) there += machine.resident(matrix) ? 1 : 0;
  EXPECT_EQ(there, matrices);
  machine.expect_within_the_bound("in turn", 0);
}

TEST(Investment, IsNotMadeWhereNothingIsGained) {
  Machine machine(rates, {{400e6, 20e6}});  // the CPU takes 40 us
  for (int i = 0; i < 5000; ++i) EXPECT_NE(machine.use(0), Refusal::none);
}

}  // namespace
}  // namespace blastoff::decide
