// Calls whose results stay on the device may return while it still computes. Nobody notices: not the program, which
// reads, writes and frees the matrices, and not other calls.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "blas/call.h"
#include "guarded_matrix.h"
#include "held_device.h"
#include "mapped_memory.h"
#include "platform/exit_status.h"
#include "platform/malloc_arenas.h"
#include "platform/span.h"
#include "product_call.h"
#include "reference_blas.h"
#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

constexpr std::int64_t order = 131;
constexpr std::int64_t depth = 8;  // only so many columns and rows of what is multiplied
constexpr std::size_t count = static_cast<std::size_t>(order * order);

/// A square matrix in a block of malloc's that has a mapping of its own, and what it should hold.
class Matrix {
 public:
  Matrix() { allocate(); }

  void allocate() {
    elements_.reset();
    std::vector<Block> in_the_heap;  // which may have room
    do {
      if (elements_) in_the_heap.push_back(std::move(elements_));
      elements_.reset(static_cast<double*>(std::malloc(count * sizeof(double))));
    } while (platform::in_malloc_arena({address(), address() + count * sizeof(double)}));
    fill(0);
  }
  void fill(std::mt19937::result_type seed) {
    std::mt19937 engine(seed);
    for (std::size_t i = 0; i < count; ++i) elements_[i] = static_cast<double>(engine() % 5) - 2;
    wanted_.assign(elements_.get(), elements_.get() + count);
    largest_ = 2;
  }
  void set(std::size_t at, double value) { elements_[at] = wanted_[at] = value; }

  double* data() const { return elements_.get(); }
  std::vector<double>& wanted() { return wanted_; }
  bool right() const { return std::equal(wanted_.begin(), wanted_.end(), elements_.get()); }
  bool right_at(std::size_t at) const { return elements_[at] == wanted_[at]; }

  /// A bound of the elements, so that all sums are exact.
  double largest() const { return largest_; }
  void set_largest(double bound) { largest_ = bound; }

 private:
  struct Free {
    void operator()(double* block) const { std::free(block); }
  };
  using Block = std::unique_ptr<double[], Free>;
  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(elements_.get()); }

  Block elements_;
  std::vector<double> wanted_;
  double largest_ = 0;
};

blas::Call product(void* a, void* b, void* c, double beta) {
  return product_call({a, b, c}, order, order, depth, beta, {order, order, order});
}

/// Waits until the test lets it go on.
class HeldRoutine final : public blas::HostRoutine {
 public:
  explicit HeldRoutine(HeldCall& call) : call_(call) {}
  bool can_compute(const blas::Call&) const override { return true; }
  void compute(const blas::Call& call) const override {
    call_.pass();
    reference::compute(call);
  }

 private:
  HeldCall& call_;
};

class RunningCalls : public testing::TestWithParam<Flavour> {
 protected:
  // Blocks of this size keep mappings of their own, whatever has been freed.
  static void SetUpTestSuite() { mallopt(M_MMAP_THRESHOLD, 128 << 10); }

  void start(const RigOptions& options = {}) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
    std::string reason;
    rig_ = Rig::create(GetParam(), options, reason);
    if (!rig_) GTEST_SKIP() << reason;
    for (auto& queues : queues_) queues = rig_->queues();
  }

  /// c = a b + beta c, by one of two threads' queues. Returns whether the call ran on.
  bool multiply(Matrix& a, Matrix& b, Matrix& c, double beta, std::size_t queues = 0) {
    const Outcome outcome =
        run_operation(rig_->policy(), queues_[queues], product(a.data(), b.data(), c.data(), beta), held_routine_);
    EXPECT_FALSE(outcome.error) << outcome.error->message;
    reference::compute(product(a.wanted().data(), b.wanted().data(), c.wanted().data(), beta));
    c.set_largest(static_cast<double>(depth) * a.largest() * b.largest() + beta * c.largest());
    return outcome.traffic.runs_on;
  }
  /// Until a call with this result runs on.
  void settle(Matrix& a, Matrix& b, Matrix& c) {
    bool runs_on = false;
    for (int call = 0; call < 20 && !runs_on; ++call) runs_on = multiply(a, b, c, 0);
    ASSERT_TRUE(runs_on);
  }

  HeldCall held_;
  const HeldRoutine held_routine_{held_};
  std::unique_ptr<Rig> rig_;
  std::array<device::CallQueues, 2> queues_;
};

#define START(...)    \
  start(__VA_ARGS__); \
  if (testing::Test::IsSkipped()) return

TEST_P(RunningCalls, AreThoseWhoseResultsHaveStayedBefore) {
  START();
  Matrix a, b, c;
  a.fill(1);
  b.fill(2);
  EXPECT_FALSE(multiply(a, b, c, 1)) << "its pages are given up at the end of this call";
  EXPECT_FALSE(multiply(a, b, c, 1)) << "so are the first and the last";
  for (int call = 0; call < 20; ++call) EXPECT_TRUE(multiply(a, b, c, 1));
  EXPECT_TRUE(c.right());
  EXPECT_FALSE(multiply(a, b, c, 1)) << "the program has looked";
  EXPECT_TRUE(c.right());
}

// As `x = x @ a` in NumPy.
TEST_P(RunningCalls, MayReadNothingOfTheirResult) {
  START();
  Matrix a, b;
  a.fill(1);
  b.fill(2);
  for (int call = 0; call < 8; ++call) {
    Matrix c;
    EXPECT_TRUE(multiply(a, b, c, 0)) << "call " << call;
    EXPECT_TRUE(call % 4 != 3 || c.right());
    std::swap(a, c);
  }
  EXPECT_TRUE(a.right());
  EXPECT_TRUE(multiply(b, b, a, 0)) << "the program has looked at what is overwritten";
  EXPECT_TRUE(a.right());
}

// What cannot be given up goes home, when it has been computed.
TEST_P(RunningCalls, WaitWhereMemoryIsLocked) {
  START();
  Matrix a, b, c;
  a.fill(1);
  b.fill(2);
  Memory locked(1);
  ASSERT_EQ(mlock(locked.page(0), platform::page_size()), 0);
  multiply(a, b, c, 0);
  EXPECT_TRUE(c.right());
}

TEST_P(RunningCalls, KeepTheBlockOfTheirResult) {
  START();
  Matrix a, b, c;
  const std::size_t usable = malloc_usable_size(c.data());
  multiply(a, b, c, 0);
  EXPECT_EQ(malloc_usable_size(c.data()), usable);
  settle(a, b, c);
  EXPECT_EQ(malloc_usable_size(c.data()), usable);
  settle(a, b, c);
  c.allocate();
  settle(a, b, c);
  EXPECT_TRUE(c.right());
}

// Their first and last pages hold other data, which the program may use at any time.
TEST_P(RunningCalls, AreNoneWhereOtherDataLiesBesideTheResult) {
  START();
  Matrix a, b;
  GuardedMatrix c(blas::Scalar::d, order, order, order, Edge::last_element);
  ASSERT_NE(reinterpret_cast<std::uintptr_t>(c.address()) % platform::page_size(), 0U);
  for (int call = 0; call < 6; ++call) {
    const Outcome outcome = run_call(rig_->policy(), queues_[0], product(a.data(), b.data(), c.address(), 0));
    EXPECT_FALSE(outcome.error);
    EXPECT_FALSE(outcome.traffic.runs_on);
  }
}

TEST_P(RunningCalls, AreNoneBesideOtherCalls) {
  START();
  Matrix a, b, c, d;
  settle(a, b, c);
  auto other = rig_->policy().begin(product(a.data(), b.data(), d.data(), 0), queues_[1]);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_FALSE(multiply(a, b, c, 1));
  other->reset();
  multiply(a, b, c, 1);
  EXPECT_TRUE(multiply(a, b, c, 1));
  EXPECT_TRUE(c.right());
}

TEST_P(RunningCalls, ReadWhatTheirOperandsWereWhenTheyWereMade) {
  START();
  Matrix a, b, c, d;
  for (unsigned round = 0; round < 10; ++round) {
    settle(a, b, c);
    a.fill(round);
    multiply(a, b, d, 0, 1);  // brings the matrix to where the running call reads it
    EXPECT_TRUE(d.right());
    EXPECT_TRUE(c.right());
  }
}

TEST_P(RunningCalls, AreFollowedByCallsOnOtherQueues) {
  START();
  Matrix a, b, c, d;
  a.fill(1);
  b.fill(2);
  settle(a, b, c);
  for (int round = 0; round < 10; ++round) {
    multiply(a, b, c, 1, 0);
    multiply(c, b, d, 0, 1);
    multiply(a, d, c, 0, 0);
    c.set_largest(2);
  }
  EXPECT_TRUE(d.right());
  EXPECT_TRUE(c.right());
}

TEST_P(RunningCalls, KeepTheirDeviceMemory) {
  RigOptions options;
  options.budget = std::size_t{10} << 20;  // five granules of 2 MiB: less than the matrices of two calls
  START(options);
  std::vector<std::unique_ptr<char[]>> between;  // so that each has device memory of its own
  std::array<std::unique_ptr<Matrix>, 8> made;
  for (auto& each : made) {
    between.push_back(std::make_unique<char[]>(std::size_t{4} << 20));
    each = std::make_unique<Matrix>();
  }
  const auto matrix = [&](unsigned index) -> Matrix& { return *made[index]; };
  for (unsigned round = 0; round < 12; ++round) {
    settle(matrix(2), matrix(3), matrix(round % 2));
    run_call(rig_->policy(), queues_[0], product(matrix(2).data(), matrix(3).data(), matrix(round % 2).data(), 0));
    multiply(matrix(4), matrix(5), matrix(6 + round % 2), 0, 1);
  }
  for (const auto& each : made) EXPECT_TRUE(each->right());
}

// The device memory of what has been freed goes back at any time.
TEST_P(RunningCalls, MayHaveTheirMatricesFreed) {
  START();
  Matrix a, b;
  for (unsigned round = 0; round < 10; ++round) {
    Matrix c;
    settle(a, b, c);
    if (round % 2 == 0) a.allocate();
    if (round % 3 == 0) rig_->policy().release_operands();
  }
  rig_->end_policy();
}

TEST_P(RunningCalls, AtRandom) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    RigOptions options;
    options.seed = seed;
    if (seed % 2 == 0) options.budget = std::size_t{10} << 20;
    START(options);
    std::mt19937 engine(seed);
    std::array<Matrix, 6> matrices;
    int running = 0;
    for (int step = 0; step < 250; ++step) {
      // The CPU writes some of them, and calls write the others.
      const bool call = engine() % 16 >= 5;
      Matrix& matrix = matrices[call ? engine() % 3 : engine() % 16 == 0 ? engine() % 6 : 3 + engine() % 3];
      const auto at = static_cast<std::size_t>(engine() % count);
      switch (call ? 5 : engine() % 5) {
        case 0: EXPECT_TRUE(matrix.right()) << "step " << step; break;
        case 1: EXPECT_TRUE(matrices[engine() % 6].right_at(at)) << "step " << step; break;
        case 2: matrix.set(at, 1); break;
        case 3: matrix.fill(engine()); break;
        case 4:
          if (engine() % 4 == 0) matrix.allocate();
          break;
        default: {
          const std::size_t place = static_cast<std::size_t>(&matrix - matrices.data());
          Matrix& a = matrices[(place + 1 + engine() % 2) % matrices.size()];
          Matrix& b = matrices[(place + 3 + engine() % 3) % matrices.size()];
          for (Matrix* const operand : {&a, &b, &matrix})
            if (operand->largest() > 1e5) operand->fill(engine());
          running += multiply(a, b, matrix, engine() % 2 == 0 ? 0 : 1, engine() % 2) ? 1 : 0;
        }
      }
      if (HasFailure()) return;
    }
    for (const Matrix& matrix : matrices) EXPECT_TRUE(matrix.right());
    EXPECT_GT(running, 8);
  }
}

/// Square matrices that fill whole pages, as the sanitizers know them, too.
class Pages {
 public:
  static constexpr std::int64_t order = 128;
  double* data() const { return reinterpret_cast<double*>(memory_.page(0)); }
  void fill(int seed) const {
    for (int at = 0; at < order * order; ++at) data()[at] = (at * (seed + 3)) % 7 - 3;
  }

 private:
  Memory memory_{order * order * sizeof(double) / platform::page_size()};
};

blas::Call product(const Pages& a, const Pages& b, const Pages& c) {
  constexpr std::int64_t n = Pages::order;
  return product_call({a.data(), b.data(), c.data()}, n, n, depth, 0, {n, n, n});
}

// Their memory is unmapped, and mapped anew, while they run.
TEST(RunningCallsThatWorkLate, MayHaveTheirMatricesUnmapped) {
  std::string reason;
  const auto rig = Rig::create(Flavour{"stay", "delayed"}, {}, reason);
  if (!rig) GTEST_SKIP() << reason;
  device::CallQueues queues = rig->queues();
  Pages b;
  b.fill(2);
  auto x = std::make_unique<Pages>();
  x->fill(1);
  std::vector<double> wanted(x->data(), x->data() + Pages::order * Pages::order);
  for (int call = 0; call < 9; ++call) {
    auto y = std::make_unique<Pages>();
    const Outcome outcome = run_call(rig->policy(), queues, product(*x, b, *y));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_TRUE(outcome.traffic.runs_on);
    std::vector<double> next(wanted.size());
    blas::Call expected = product(*x, b, *y);
    expected.operands()[0].address = wanted.data();
    expected.operands()[2].address = next.data();
    reference::compute(expected);
    wanted = std::move(next);
    x = std::move(y);
  }
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), x->data()));
}

// The call has returned, and nobody else has its result.
TEST(RunningCallsThatWorkLate, EndTheProcessIfTheDeviceIsLostWithTheirResult) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  RigOptions options;
  options.fault = "execute:1:lost";
  std::string reason;
  if (!Rig::create(Flavour{"stay", "delayed"}, options, reason)) GTEST_SKIP() << reason;
  const auto look_at_a_lost_result = [&] {
    const auto rig = Rig::create(Flavour{"stay", "delayed"}, options, reason);
    device::CallQueues queues = rig->queues();
    Pages a, b, c;
    a.fill(1);
    b.fill(2);
    const Outcome outcome = run_call(rig->policy(), queues, product(a, b, c));
    std::_Exit(outcome.error || !outcome.traffic.runs_on ? 1 : static_cast<int>(c.data()[5]));
  };
  EXPECT_EXIT(look_at_a_lost_result(), testing::ExitedWithCode(platform::software_error), "128 x 128 of dgemm");
}

class CallsHeldByTheDevice : public RunningCalls {
 protected:
  template <class Work>
  void expect_to_go_on(Work work) {
    auto others = std::async(std::launch::async, work);
    const bool gone_on = others.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(gone_on);
    if (!gone_on) held_.let_go();
  }
  /// The second of two calls, which reads the result of the first, is held by the device.
  void hold_second() {
    a_.fill(1);
    b_.fill(2);
    EXPECT_TRUE(multiply(a_, b_, c_, 0));
    EXPECT_TRUE(queues_[0].compute->synchronize());  // or the first might be the next to be computed
    held_.hold_next();
    EXPECT_TRUE(multiply(c_, b_, d_, 0));
    held_.wait_until_held();
  }

  Matrix a_, b_, c_, d_;
};

TEST_P(CallsHeldByTheDevice, DelayNobodyWhoReadsOtherResults) {
  START();
  hold_second();
  expect_to_go_on([&] { EXPECT_TRUE(c_.right()); });
  auto reader = std::async(std::launch::async, [&] { return d_.right(); });
  EXPECT_EQ(reader.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  held_.let_go();
  EXPECT_TRUE(reader.get());
}

// To free a block, the allocator reads its header, which lies on the result's first page. The next result may lie right
// before the header.
TEST_P(CallsHeldByTheDevice, DelayNobodyWhoFreesTheirOperands) {
  START();
  hold_second();
  expect_to_go_on([&] { c_.allocate(); });
  held_.let_go();
  EXPECT_TRUE(d_.right());
}

// Another call that has begun by then need not follow it.
TEST(RunningCallsOfThreads, WaitForWhatHasBegunBeforeTheyReturn) {
  const auto held = std::make_shared<HeldCalls>();
  RigOptions options;
  options.held = held;
  std::string reason;
  const auto rig = Rig::create(Flavour{"stay", "simulated"}, options, reason);
  if (!rig) GTEST_SKIP() << reason;
  device::CallQueues queues = rig->queues();
  device::CallQueues others = rig->queues();
  Pages a, b, c, d, e, f;
  for (const Pages* const operand : {&a, &b, &d, &e}) operand->fill(1);
  const auto begin_other = [&] { return rig->policy().begin(product(d, e, f), others); };
  {
    const auto first = rig->policy().begin(product(a, b, c), queues);
    const auto second = begin_other();  // there are events for two calls
  }
  held->event.hold_next();
  auto call =
      std::async(std::launch::async, [&] { return run_call(rig->policy(), queues, product(a, b, c)).traffic.runs_on; });
  held->event.wait_until_held();
  const auto other = begin_other();
  EXPECT_TRUE(other);
  held->event.let_go();
  EXPECT_FALSE(call.get());
}

std::string name_of(const testing::TestParamInfo<Flavour>& info) {
  return info.param.device;
}

INSTANTIATE_TEST_SUITE_P(AllDevices, RunningCalls,
                         testing::Values(Flavour{"stay", "simulated"}, Flavour{"stay", "delayed"},
                                         Flavour{"stay", "pinning"}, Flavour{"stay", "cuda"}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(AllDevices, CallsHeldByTheDevice, testing::Values(Flavour{"stay", "delayed"}), name_of);

}  // namespace
}  // namespace blastoff::test
