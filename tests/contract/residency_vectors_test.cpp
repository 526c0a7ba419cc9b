// Products of a matrix and a vector. Vectors are copied at each call, even if they lie in mirrored memory.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "guarded_matrix.h"
#include "reference_blas.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

constexpr std::int64_t order = 200;
constexpr std::uint64_t matrix_bytes = order * order * sizeof(double);
constexpr std::uint64_t vector_bytes = order * sizeof(double);

struct Vector {
  double* first;
  std::int64_t increment = 1;
  bool reversed = false;
};

class ResidencyVectors : public FlavourTest {
 protected:
  void SetUp() override {
    start();
    for (std::size_t i = 0; i < memory_.bytes() / sizeof(double); ++i) at(static_cast<std::int64_t>(i)) = integer();
  }

  double integer() { return static_cast<double>(engine_() % 5) - 2; }
  double& at(std::int64_t element) { return reinterpret_cast<double*>(memory_.begin())[element]; }
  double* matrix(std::int64_t index) { return &at(index * order * order); }
  std::vector<char> bytes() const { return {memory_.begin(), memory_.end()}; }

  static blas::Call product(double* a, const Vector& x, const Vector& y, double beta) {
    blas::Call call;
    call.routine = blas::Routine::dgemv;
    call.m = call.n = order;
    call.alpha = 1;
    call.beta = beta;
    call.reversed_x = x.reversed;
    call.reversed_y = y.reversed;
    void* const addresses[] = {a, x.first, y.first};
    const std::int64_t leading[] = {order, x.increment, y.increment};
    blas::shape_operands(call, addresses, leading);
    return call;
  }

  /// C := A A^T for two matrices in the memory, which makes a mirror of A.
  blas::Call square(std::int64_t a, std::int64_t c) {
    blas::Call call;
    call.routine = blas::Routine::dgemm;
    call.m = call.n = call.k = order;
    call.transpose_b = blas::Transpose::transpose;
    call.alpha = 1;
    void* const addresses[] = {matrix(a), matrix(a), matrix(c)};
    const std::int64_t leading[] = {order, order, order};
    blas::shape_operands(call, addresses, leading);
    return call;
  }

  /// Makes the call and compares every byte of the memory, since sums of small integers are exact.
  Outcome run(const blas::Call& call, const char* what) {
    std::vector<char> expected = bytes();
    reference::compute(shadow(call, expected));
    Outcome outcome = run_call(rig_->policy(), queues_, call);
    if (outcome.error) ADD_FAILURE() << what << ": " << outcome.error->message;
    EXPECT_TRUE(bytes() == expected) << what;
    return outcome;
  }

  /// The same call on a copy of the memory, so that it writes nothing near a mirror.
  blas::Call shadow(blas::Call call, std::vector<char>& copy) const {
    for (operation::Operand& operand : call.operands()) {
      const std::ptrdiff_t offset = static_cast<char*>(operand.address) - memory_.begin();
      if (offset >= 0 && offset < static_cast<std::ptrdiff_t>(copy.size())) operand.address = copy.data() + offset;
    }
    return call;
  }

  bool mirrors() const { return GetParam().mirrors(); }

  std::mt19937 engine_{1};
  GuardedPages memory_{4 * matrix_bytes};
};

TEST_P(ResidencyVectors, AreNewInEveryCallWhileTheirMatrixStays) {
  const blas::Call call = product(matrix(0), {matrix(2)}, {matrix(3)}, 0);
  run(call, "first");
  for (int i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < order; ++j) matrix(2)[j] = integer();
    const Outcome outcome = run(call, "again");
    if (!mirrors()) continue;
    EXPECT_EQ(outcome.traffic.bytes_to_device, vector_bytes);
    EXPECT_EQ(outcome.traffic.bytes_from_device, vector_bytes);
    EXPECT_EQ(outcome.traffic.bytes_reused, matrix_bytes);
  }
}

TEST_P(ResidencyVectors, AnyIncrementLeavesWhatLiesBetweenAlone) {
  for (const std::int64_t increment : {1, 2, 200, 401})
    for (const bool reversed : {false, true})
      run(product(matrix(0), {matrix(1), 3, !reversed}, {&at(2 * order * order - 1), increment, reversed}, 0.5),
          "increments");
}

// A result in mirrored memory does not reach the mirror directly: the CPU copies it to host memory, and the next use
// updates the mirror.
TEST_P(ResidencyVectors, ResultsWithinAMirroredMatrixAreSeenByItsNextUse) {
  run(square(0, 1), "mirrored");
  run(product(matrix(2), {matrix(3)}, {matrix(0) + 7 * order}, 1), "into a column");
  run(square(0, 1), "with the new column");
  run(product(matrix(2), {matrix(3)}, {matrix(0) + 11, order}, 1), "into a row");
  run(square(0, 1), "with the new row");
}

TEST_P(ResidencyVectors, WithinAMirroredMatrixAreReadAsTheyAre) {
  run(square(0, 1), "mirrored");
  run(product(matrix(0), {matrix(0) + 5, order}, {matrix(2)}, 0), "a row of the matrix itself");
  run(product(matrix(1), {matrix(1) + 5 * order}, {matrix(2)}, 0), "a column of an earlier result");
  matrix(0)[5 * order] += 1;
  run(product(matrix(1), {matrix(0) + 5 * order}, {matrix(2)}, 0), "after a write");
}

// A mirror of the stack would not be worth its memory, but a vector needs no mirror.
TEST_P(ResidencyVectors, MayLieOnTheStack) {
  double x[order];
  for (double& each : x) each = integer();
  const Outcome outcome = run(product(matrix(0), {x}, {matrix(2)}, 0), "from the stack");
  EXPECT_FALSE(outcome.error);
}

TEST_P(ResidencyVectors, OfThreadsThatWriteElementsOfOneColumn) {
  constexpr std::int64_t threads = 4;
  run(square(0, 1), "mirrored");
  std::vector<blas::Call> calls;
  for (std::int64_t t = 0; t < threads; ++t) {
    calls.push_back(product(matrix(2), {matrix(3) + t * order}, {matrix(0) + t, threads}, 1));
    calls.back().m = order / threads;
    void* const addresses[] = {matrix(2) + t, matrix(3) + t * order, matrix(0) + t};
    const std::int64_t leading[] = {order, 1, threads};
    blas::shape_operands(calls.back(), addresses, leading);
  }
  std::vector<char> expected = bytes();
  for (int i = 0; i < 20; ++i)
    for (const blas::Call& call : calls) reference::compute(shadow(call, expected));
  std::vector<std::thread> running;
  for (std::int64_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      device::CallQueues queues = rig_->queues();
      for (int i = 0; i < 20; ++i)
        EXPECT_FALSE(run_call(rig_->policy(), queues, calls[static_cast<std::size_t>(t)]).error);
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_TRUE(bytes() == expected);
  run(square(0, 1), "with the new column");
}

INSTANTIATE_TEST_SUITE_P(Policies, ResidencyVectors,
                         testing::Values(Flavour{"first-use", "simulated"}, Flavour{"first-use", "delayed"},
                                         Flavour{"stay", "simulated"}, Flavour{"first-use", "pinning"},
                                         Flavour{"copy", "simulated"}, Flavour{"coherent", "simulated"},
                                         Flavour{"first-use", "cuda"}, Flavour{"copy", "cuda"}),
                         [](const auto& test) {
                           std::string name = test.param.policy + "_" + test.param.device;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace blastoff::test
