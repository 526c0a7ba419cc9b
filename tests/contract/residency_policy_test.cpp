// The promises of every residency policy, on every device: right results, no other byte changed, and true counts.
#include "residency/policy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "product_call.h"
#include "residency_case.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

using blas::Routine;

class ResidencyPolicy : public FlavourTest {
 protected:
  bool first_use() const { return GetParam().mirrors(); }
  bool in_place() const { return GetParam().in_place(); }

  Outcome run(const blas::Call& call) { return run_call(rig_->policy(), queues_, call); }
  void run_and_check(Case& test, const std::string& what) {
    test.expect();
    const Outcome outcome = run(test.call());
    ASSERT_FALSE(outcome.error) << what << ": " << outcome.error->message;
    test.expect_right(what);
  }
};

/// For tests of copies to and from the device.
#define START_COPYING(...)                                                              \
  if (in_place()) GTEST_SKIP() << "nothing is copied where operands are used in place"; \
  START(__VA_ARGS__)

#define START(...)    \
  start(__VA_ARGS__); \
  if (testing::Test::IsSkipped()) return

TEST_P(ResidencyPolicy, ComputesEveryRoutineWithEveryOptionAndTouchesNothingElse) {
  START();
  for (std::size_t i = 0; i < blas::routines().size(); ++i) {
    const auto routine = static_cast<Routine>(i);
    if (is_batch(row(routine).kind)) continue;
    std::size_t number = i;  // the edges take turns
    for (const blas::Call& options : all_options(options_of(routine, 37, 29, 23, 1))) {
      const bool first = number++ % 2 == 0;
      Case test(options, first ? 0 : 5, first ? Edge::first_element : Edge::last_element);
      run_and_check(test, "first call");
      test.refill(0);
      run_and_check(test, "first operand rewritten");
      if (HasFailure()) return;
    }
  }
}

TEST_P(ResidencyPolicy, ComputesBatchesWholeAndInPieces) {
  for (const std::size_t panel : {1 << 20, 1 << 12}) {
    RigOptions options;
    options.panels = {panel, panel, panel};
    for (const Routine routine : {Routine::dgemm_batch_strided, Routine::zgemm_batch}) {
      START(options);  // a new policy, as below
      for (const std::int64_t gap : {0, 7}) {
        for (const double beta : {0.0, 1.0}) {
          blas::Call call = options_of(routine, 21, 15, 11, beta);
          call.products = 17;
          call.transpose_b = blas::Transpose::transpose;
          Case test(call, gap, Edge::last_element);
          run_and_check(test, "first call");
          test.refill_result();
          run_and_check(test, "result rewritten");
          test.refill(0);
          run_and_check(test, "first operand rewritten");
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(ResidencyPolicy, ComputesOverManyPages) {
  bool near = true;  // takes turns, so that half of the routines have each combination
  for (const Routine routine : {Routine::dgemm, Routine::zgemm, Routine::ssymm, Routine::zherk, Routine::dsyrk,
                                Routine::csyr2k, Routine::dtrmm, Routine::ztrsm, Routine::dgemmt}) {
    START();  // a new policy, since mirrors of real matrices may leave no room for complex ones at the same addresses
    for (const double beta : {0.0, 1.0}) {
      Case test(options_of(routine, 150, 131, 20, beta), near ? 3 : 600, Edge::last_element);
      run_and_check(test, "first call");
      test.refill_result();
      run_and_check(test, "result rewritten");
      run_and_check(test, "again");
      if (HasFailure()) return;
      near = !near;
    }
    near = !near;
  }
}

TEST_P(ResidencyPolicy, CutsLargeCallsIntoPanels) {
  RigOptions options;
  options.slot_bytes = std::size_t{4} << 20;
  options.simulated_memory = std::size_t{1} << 30;
  options.budget = std::size_t{768} << 20;
  START_COPYING(options);
  for (const Routine routine : {Routine::dgemm, Routine::dsyrk}) {
    const std::int64_t n = routine == Routine::dgemm ? 2400 : 3000;
    Case test(options_of(routine, n, n, 1, 1), 9, Edge::last_element);
    test.expect();
    const Outcome outcome = run(test.call());
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_TRUE(GetParam().stays() || outcome.panels.size() > 1);
    test.expect_right("panels");
    if (HasFailure()) return;
  }
}

/// Strips are wide however long the triangle is, since devices solve for few columns slowly.
TEST_P(ResidencyPolicy, CutsSolvesIntoWideStrips) {
  constexpr std::int64_t width = 60;
  RigOptions options;
  options.panels = {.general = 1 << 10, .triangular = 1 << 10, .solve_width = width};
  START_COPYING(options);
  if (!first_use() || GetParam().stays()) GTEST_SKIP() << "it is one panel";
  for (const std::int64_t order : {20, 150}) {
    for (const bool left : {true, false}) {
      blas::Call call = options_of(Routine::dtrsm, left ? order : 200, left ? 200 : order, 0, 0);
      call.side = left ? blas::Side::left : blas::Side::right;
      Case test(call, 3, Edge::last_element);
      test.expect();
      const Outcome outcome = run(test.call());
      ASSERT_FALSE(outcome.error) << outcome.error->message;
      test.expect_right("strips");
      ASSERT_EQ(outcome.panels.size(), 4u) << "200 columns or rows by 60 at most";
      for (const operation::Operation& panel : outcome.panels) {
        const operation::Operand& strip = panel.operands().back();
        EXPECT_EQ(left ? strip.rows : strip.columns, order);
        EXPECT_GT(left ? strip.columns : strip.rows, width / 2) << "of one width, about";
      }
    }
  }
}

TEST_P(ResidencyPolicy, BringsManyPanelsHomeAgainAndAgain) {
  RigOptions options;
  options.panels = {1 << 14, 1 << 13, 1 << 14};
  START(options);
  for (const Routine routine : {Routine::dgemm, Routine::dsyrk, Routine::zherk, Routine::dtrsm, Routine::dgemmt}) {
    for (const blas::Call& call : all_options(options_of(routine, 150, 131, 20, 1))) {
      Case test(call, 3, Edge::last_element);
      for (int round = 0; round < 3; ++round) run_and_check(test, "round " + std::to_string(round));
      if (HasFailure()) return;
    }
  }
}

TEST_P(ResidencyPolicy, UploadsNothingForAResultThatIsNotRead) {
  START_COPYING();
  Case test(options_of(Routine::dgemm, 200, 180, 160, 0), 0, Edge::first_element);
  test.expect();
  const Outcome outcome = run(test.call());
  ASSERT_FALSE(outcome.error) << outcome.error->message;
  test.expect_right("beta is 0");
  const std::size_t page = platform::page_size();
  const auto operands = test.call().operands();
  const std::size_t read = operands[0].payload_bytes() + operands[1].payload_bytes();
  EXPECT_GE(outcome.traffic.bytes_to_device, read);
  EXPECT_LT(outcome.traffic.bytes_to_device, read + 4 * page);
  EXPECT_EQ(outcome.traffic.bytes_from_device + outcome.traffic.bytes_left, operands[2].payload_bytes());
  EXPECT_EQ(outcome.traffic.bytes_left > 0, GetParam().stays());
  EXPECT_EQ(outcome.traffic.bytes_reused, 0u);
}

TEST_P(ResidencyPolicy, BringsBackOnlyTheTriangle) {
  START_COPYING();
  const std::uint64_t n = 150;
  Case test(options_of(Routine::dsyrk, n, n, 20, 0), 0, Edge::last_element);
  test.expect();
  const Outcome outcome = run(test.call());
  ASSERT_FALSE(outcome.error) << outcome.error->message;
  test.expect_right("triangle");
  EXPECT_EQ(outcome.traffic.bytes_from_device + outcome.traffic.bytes_left, n * (n + 1) / 2 * 8);
  EXPECT_EQ(outcome.traffic.bytes_left > 0, GetParam().stays());
}

TEST_P(ResidencyPolicy, CountsWhatTheCpuRewrites) {
  START();
  if (!first_use()) GTEST_SKIP() << "nothing stays on the device that could be rewritten";
  Case test(options_of(Routine::dgemm, 200, 180, 160, 0), 0, Edge::first_element);
  const std::uint64_t first = test.call().operands()[0].payload_bytes();
  const auto rewritten = [&] {
    test.expect();
    const Outcome outcome = run(test.call());
    EXPECT_FALSE(outcome.error);
    return outcome.traffic.bytes_rewritten;
  };
  EXPECT_EQ(rewritten(), 0U) << "new";
  EXPECT_EQ(rewritten(), 0U) << "unchanged";
  for (int round = 0; round < 6; ++round) {  // the matrix is mirrored at first, and copied later
    test.refill(0);
    const std::uint64_t bytes = rewritten();
    EXPECT_LE(bytes, first);
    EXPECT_GE(bytes + 2 * platform::page_size(), first) << "round " << round;
  }
  EXPECT_EQ(rewritten(), 0U) << "copied, but unchanged";
}

TEST_P(ResidencyPolicy, ReusesWhatStaysOnTheDevice) {
  START();
  Case test(options_of(Routine::dgemm, 200, 180, 160, 0), 0, Edge::first_element);
  const auto operands = test.call().operands();
  const std::uint64_t read = operands[0].payload_bytes() + operands[1].payload_bytes();
  run_and_check(test, "first");
  test.expect();
  Outcome outcome = run(test.call());
  ASSERT_FALSE(outcome.error) << outcome.error->message;
  test.expect_right("second");
  if (first_use()) {
    EXPECT_EQ(outcome.traffic.bytes_to_device, 0u);
    EXPECT_EQ(outcome.traffic.bytes_reused, read);
  } else if (in_place()) {
    EXPECT_EQ(outcome.traffic.bytes_to_device, 0u);
    EXPECT_EQ(outcome.traffic.bytes_from_device, 0u);
    EXPECT_EQ(outcome.traffic.bytes_reused, read);
  } else {
    EXPECT_EQ(outcome.traffic.bytes_to_device, read);
    EXPECT_EQ(outcome.traffic.bytes_reused, 0u);
  }

  // If the CPU writes one element, one page is uploaded.
  test.operand(0).set(7, 100, 2, 0);
  test.expect();
  outcome = run(test.call());
  ASSERT_FALSE(outcome.error) << outcome.error->message;
  test.expect_right("one element written");
  if (first_use()) {
    EXPECT_EQ(outcome.traffic.bytes_to_device, platform::page_size());
  }
}

TEST_P(ResidencyPolicy, KeepsResultsThatComeHomeUnseen) {
  START();
  if (GetParam().device != "pinning" || GetParam().stays()) GTEST_SKIP() << "no result comes home in pinned memory";
  // The result is some rows of a larger array. It fills only a part of its pages, but they stay current.
  Case test(options_of(Routine::dgemm, 90, 80, 10, 1), 30, Edge::last_element);
  for (int round = 0; round < 6; ++round) {
    test.expect();
    const std::uint64_t before = rig_->unseen_writes();
    const Outcome outcome = run(test.call());
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    test.expect_right("round " + std::to_string(round));
    if (round >= 3) {
      EXPECT_GE(rig_->unseen_writes(), before + 80) << "round " << round;
      // Clearing soft-dirty bits skips locked pages, so these count as written as long as they are locked.
      if (first_use() && !GetParam().soft_dirty()) {
        EXPECT_EQ(outcome.traffic.bytes_to_device, 0u) << "round " << round;
      }
    }
  }
  // A neighbour's write to such a page is still seen, and the result in it survives the upload.
  test.result().pages().begin()[0] ^= 1;
  test.result().set(5, 40, 1, 0);
  for (int round = 0; round < 3; ++round) run_and_check(test, "after a write");
}

/// The CPU writes a result, in its own BLAS call or otherwise.
TEST_P(ResidencyPolicy, SparesTheCpuPageFaultsOfItsOwnCalls) {
  START();
  if (!first_use() || GetParam().soft_dirty()) GTEST_SKIP() << "no page of a result is protected";
  for (const bool announced : {false, true}) {
    Case test(options_of(Routine::dgemm, 512, 180, 10, 1), 0, Edge::first_element);
    const std::uint64_t pages = test.call().result().payload_bytes() / platform::page_size();
    for (int round = 0; round < 3; ++round) run_and_check(test, "on the device");
    if (announced) rig_->policy().leave_to_cpu(test.call());
    test.refill_result();
    test.expect();
    const Outcome outcome = run(test.call());
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    test.expect_right("after the CPU");
    EXPECT_GE(outcome.traffic.bytes_to_device, test.call().result().payload_bytes());
    if (announced) {
      EXPECT_EQ(outcome.traffic.page_faults, 0U);
    } else if (GetParam().device != "cuda") {  // the fake GPU's writes are noticed, so its matrix is copied by then
      EXPECT_GE(outcome.traffic.page_faults, pages);
    }
  }
}

TEST_P(ResidencyPolicy, PinsNothingWhereTheTrackerForbidsIt) {
  RigOptions options;
  options.may_pin = false;
  START(options);
  if (GetParam().device != "pinning") GTEST_SKIP() << "this device does not pin";
  Case test(options_of(Routine::dgemm, 90, 80, 10, 1), 0, Edge::last_element);
  for (int round = 0; round < 5; ++round) {
    run_and_check(test, "round " + std::to_string(round));
    test.refill_result();
  }
  EXPECT_EQ(rig_->unseen_writes(), 0u);
}

TEST_P(ResidencyPolicy, SeesEveryWriteBetweenCalls) {
  START();
  Case test(options_of(Routine::dgemm, 90, 80, 70, 1), 11, Edge::last_element);
  std::mt19937 engine(3);
  for (int round = 0; round < 60; ++round) {
    const std::size_t which = engine() % 3;
    const auto& operand = test.call().operands()[which];
    test.operand(which).set(static_cast<std::int64_t>(engine() % static_cast<unsigned>(operand.rows)),
                            static_cast<std::int64_t>(engine() % static_cast<unsigned>(operand.columns)), round % 7 - 3,
                            0);
    if (round % 10 == 0) test.refill_result();
    run_and_check(test, "round " + std::to_string(round));
    if (HasFailure()) return;
  }
}

TEST_P(ResidencyPolicy, ReadsPartsOfOneArrayByTheirOwnOffsets) {
  START();
  // A and B are overlapping parts of one array, C another part of it between their columns.
  GuardedMatrix array(blas::Scalar::d, 300, 200, 300, Edge::last_element);
  std::mt19937 engine(5);
  array.fill(engine);
  GuardedMatrix copy(blas::Scalar::d, 300, 200, 300, Edge::last_element);
  for (int round = 0; round < 20; ++round) {
    const std::int64_t row = static_cast<std::int64_t>(engine() % 60);
    const std::array<void*, 3> parts{array.element(row, 3), array.element(row + 20, 20), array.element(210, row)};
    const blas::Call call = product_call(parts, 60, 50, 40, round % 2, {300, 300, 300});
    if (round % 5 == 0) array.fill(engine);
    copy.restore(array.bytes());
    blas::Call shadow = call;
    for (operation::Operand& operand : shadow.operands()) {
      operand.address = static_cast<char*>(operand.address) - array.pages().begin() + copy.pages().begin();
    }
    reference::compute(shadow);
    const Outcome outcome = run(call);
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    ASSERT_EQ(array.bytes(), copy.bytes()) << "round " << round;
    // Products of products grow, so start again with small numbers.
    for (std::int64_t j = 0; j < 50; ++j) {
      for (std::int64_t i = 0; i < 60; ++i) array.set(210 + i, row + j, static_cast<double>(engine() % 5) - 2, 0);
    }
  }
}

TEST_P(ResidencyPolicy, ServesThreadsThatWriteRowsOfOneMatrix) {
  START();
  constexpr int threads = 4, rounds = 25;
  constexpr std::int64_t rows = 23, columns = 60, inner = 40;
  GuardedMatrix c(blas::Scalar::d, rows * threads, columns, rows * threads, Edge::last_element);
  GuardedMatrix a(blas::Scalar::d, rows * threads, inner, rows * threads, Edge::first_element);
  GuardedMatrix b(blas::Scalar::d, inner, columns, inner, Edge::first_element);
  std::mt19937 engine(7);
  a.fill(engine);
  b.fill(engine);
  std::atomic<int> wrong{0};
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread) {
    team.emplace_back([&, thread] {
      device::CallQueues queues = rig_->queues();
      std::vector<double> expected(rows * columns);
      for (int round = 0; round < rounds; ++round) {
        const std::int64_t first = rows * thread;
        // Each thread writes its own elements on shared pages, by the CPU and by a call.
        for (std::int64_t j = 0; j < columns; ++j) c.set(first + round % rows, j, round, 0);
        a.set(first + round % rows, round % inner, round % 3, 0);
        blas::Call call = product_call({a.element(first, 0), b.address(), c.element(first, 0)}, rows, columns, inner,
                                       round % 3 == 0 ? 0 : 1, {rows * threads, inner, rows * threads});
        call.alpha = round % 2 == 0 ? 1 : -1;
        blas::Call shadow = call;
        shadow.result().address = expected.data();
        shadow.result().leading_dimension = rows;
        for (std::int64_t j = 0; j < columns; ++j)
          std::memcpy(&expected[static_cast<std::size_t>(j * rows)], c.element(first, j), rows * 8);
        reference::compute(shadow);
        const Outcome outcome = run_call(rig_->policy(), queues, call);
        if (outcome.error) {
          ADD_FAILURE() << outcome.error->message;
          return;
        }
        for (std::int64_t j = 0; j < columns; ++j) {
          const auto* column = reinterpret_cast<const char*>(&expected[static_cast<std::size_t>(j * rows)]);
          const char* found = static_cast<const char*>(static_cast<void*>(c.element(first, j)));
          if (first_difference(found, column, rows * 8, blas::Scalar::d) != rows * 8) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ResidencyPolicy, ServesThreadsThatShareOneProduct) {
  START();
  // Slices of B and C share pages. B is rewritten before each product, A before every third, and C is never read.
  constexpr int threads = 4, rounds = 16;
  constexpr std::int64_t rows = 24, columns = 70, inner = 128;
  std::vector<double> a(rows * inner), b(inner * columns * threads), c(rows * columns * threads);
  std::mt19937 engine(3);
  const auto rewrite = [&](std::vector<double>& matrix) {
    for (double& element : matrix) element = static_cast<double>(engine() % 9) - 4;
  };
  std::vector<device::CallQueues> queue_pool;
  for (int thread = 0; thread < threads; ++thread) queue_pool.push_back(rig_->queues());
  const auto slice = [&](int thread, double* result) {
    return product_call(
        {a.data(), &b[static_cast<std::size_t>(inner * columns * thread)], result + rows * columns * thread}, rows,
        columns, inner);
  };
  for (int round = 0; round < rounds; ++round) {
    rewrite(b);
    if (round % 3 == 0) rewrite(a);
    std::vector<std::thread> team;
    for (int thread = 0; thread < threads; ++thread) {
      team.emplace_back([&, thread] {
        const Outcome outcome =
            run_call(rig_->policy(), queue_pool[static_cast<std::size_t>(thread)], slice(thread, c.data()));
        if (outcome.error) ADD_FAILURE() << outcome.error->message;
      });
    }
    for (std::thread& thread : team) thread.join();
    std::vector<double> expected(c.size());
    for (int thread = 0; thread < threads; ++thread) reference::compute(slice(thread, expected.data()));
    ASSERT_EQ(c, expected) << "round " << round;
  }
}

TEST_P(ResidencyPolicy, NeitherLosesNorOverlooksANeighboursWrites) {
  START();
  // The call writes rows 0..39 of an array, while a neighbour writes row 40 of every column.
  GuardedMatrix array(blas::Scalar::d, 41, 150, 41, Edge::last_element);
  Case source(options_of(Routine::dgemm, 40, 150, 30, 0), 0, Edge::first_element);
  blas::Call writing = source.call();
  writing.result().address = array.address();
  writing.result().leading_dimension = 41;
  std::mt19937 engine(2);
  array.fill(engine);
  std::atomic<bool> stop{false};
  std::atomic<int> lost{0};
  std::thread neighbour([&] {
    for (int value = 1; !stop; value = value % 1000 + 1) {
      for (std::int64_t j = 0; j < 150; ++j) array.set(40, j, value, 0);
      for (std::int64_t j = 0; j < 150; ++j) {
        double found = 0;
        std::memcpy(&found, array.element(40, j), sizeof found);
        if (found != value) ++lost;
      }
    }
  });
  for (int round = 0; round < 40; ++round) {
    const Outcome outcome = run(writing);
    if (outcome.error) ADD_FAILURE() << outcome.error->message;
  }
  stop = true;
  neighbour.join();
  EXPECT_EQ(lost, 0);

  // A call that reads the whole array finds the neighbour's last values.
  GuardedMatrix sum(blas::Scalar::d, 3, 150, 3, Edge::last_element);
  GuardedMatrix ones(blas::Scalar::d, 3, 41, 3, Edge::first_element);
  for (std::int64_t j = 0; j < 41; ++j) {
    for (std::int64_t i = 0; i < 3; ++i) ones.set(i, j, 1, 0);
  }
  const blas::Call reading = product_call({ones.address(), array.address(), sum.address()}, 3, 150, 41);
  std::vector<double> expected(3 * 150);
  blas::Call shadow = reading;
  shadow.result().address = expected.data();
  reference::compute(shadow);
  ASSERT_FALSE(run(reading).error);
  EXPECT_EQ(std::memcmp(expected.data(), sum.address(), expected.size() * sizeof(double)), 0);
}

TEST_P(ResidencyPolicy, GivesEverythingBackWhenALeaseIsDropped) {
  START();
  static const reference::ReferenceRoutine host;
  for (int stage = 0; stage < 4; ++stage) {
    Case test(options_of(Routine::dgemm, 90, 80, 70, 1), 4, Edge::last_element);
    for (int round = 0; round < 3; ++round) {
      test.expect();
      {
        auto lease = rig_->policy().begin(test.call(), queues_);
        ASSERT_TRUE(lease) << lease.error().message;
        if (stage > 0) {
          auto panel = (*lease)->acquire(0);
          ASSERT_TRUE(panel) << panel.error().message;
          if (stage > 1) {
            ASSERT_TRUE(queues_.compute->execute(*panel, host));
          }
          if (stage > 2) {
            ASSERT_TRUE((*lease)->release(0));
          }
        }
      }
      const bool may_be_written = in_place() ? stage > 1 : stage > 2;
      if (!may_be_written) test.expect_untouched("dropped at stage " + std::to_string(stage));
      test.take_back();
      run_and_check(test, "after a lease dropped at stage " + std::to_string(stage));
      test.take_back();
      if (HasFailure()) return;
    }
  }
}

TEST_P(ResidencyPolicy, ReturnsAllDeviceMemoryAtTheEnd) {
  START();
  if (GetParam().device == "cuda") GTEST_SKIP() << "others use that memory too";
  for (const std::int64_t size : {10, 100, 300}) {
    Case test(options_of(Routine::dgemm, size, size, size / 2, 1), 1, Edge::last_element);
    run_and_check(test, "size " + std::to_string(size));
  }
  rig_->end_policy();
  EXPECT_EQ(rig_->free_memory(), rig_->free_at_start());
}

TEST_P(ResidencyPolicy, ReturnsWhatItKeepsOnRequestAndGoesOn) {
  START();
  Case test(options_of(Routine::dgemm, 200, 180, 160, 0), 0, Edge::first_element);
  const auto operands = test.call().operands();
  for (int round = 0; round < 3; ++round) {
    run_and_check(test, "before");
    rig_->policy().release_operands();
    EXPECT_EQ(rig_->device().accountant().held(device::MemoryClient::mirrors).now, 0u);
    test.operand(0).set(7, 100, 2 + round, 0);
    test.expect();
    const Outcome outcome = run(test.call());
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    test.expect_right("after");
    if (first_use()) {
      EXPECT_GE(outcome.traffic.bytes_to_device, operands[0].payload_bytes() + operands[1].payload_bytes());
    }
  }
}

TEST_P(ResidencyPolicy, SaysSoWhenOperandsDoNotFit) {
  RigOptions options;
  options.simulated_memory = std::size_t{8} << 20;
  options.budget = std::size_t{6} << 20;
  START(options);
  Case small(options_of(Routine::dgemm, 60, 60, 60, 1), 0, Edge::last_element);
  run_and_check(small, "before");
  for (int round = 0; round < 3; ++round) {
    Case large(options_of(Routine::dgemm, 1000, 1000, 2, 1), 0, Edge::last_element);
    large.expect();
    const Outcome outcome = run(large.call());
    if (outcome.error) {
      EXPECT_EQ(outcome.error->kind, device::ErrorKind::out_of_memory) << outcome.error->message;
      for (std::size_t i = 0; i < outcome.states.size(); ++i) {
        EXPECT_EQ(outcome.states[i], residency::HostState::untouched);
      }
      large.expect_untouched("did not fit");
    } else {
      large.expect_right("fitted in pieces");
    }
    small.refill_result();
    run_and_check(small, "after");
  }
  queues_ = {};
  rig_->end_policy();
  EXPECT_EQ(rig_->free_memory(), rig_->free_at_start());
}

TEST_P(ResidencyPolicy, StaysRightWhileItEvicts) {
  RigOptions options;
  options.budget = std::size_t{13} << 20;
  START(options);
  // Eight calls, each with 4 MiB of matrices, take turns in room for three.
  std::vector<std::unique_ptr<Case>> cases;
  for (unsigned i = 0; i < 8; ++i) {
    cases.push_back(std::make_unique<Case>(options_of(Routine::dgemm, 400, 400, 2 + i, 1), static_cast<std::int64_t>(i),
                                           Edge::last_element, i));
  }
  std::mt19937 engine(11);
  for (int round = 0; round < 40; ++round) {
    Case& test = *cases[engine() % cases.size()];
    if (round % 3 == 0) test.refill(engine() % 3);
    if (round % 4 == 0) test.refill_result();
    run_and_check(test, "round " + std::to_string(round));
    if (HasFailure()) return;
    test.refill_result();
  }
}

TEST_P(ResidencyPolicy, LeavesMappingsWholeForTheProgramToMove) {
  START();
  // Tracking a part of a mapping splits it, and mremap refuses pages that are no longer one mapping.
  const std::size_t page = platform::page_size();
  std::size_t bytes = 1000 * page;
  char* mapping = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(mapping, MAP_FAILED);
  Case test(options_of(Routine::dgemm, 60, 60, 50, 1), 0, Edge::first_element);
  std::mt19937 engine(4);
  for (int round = 0; round < 12; ++round) {
    blas::Call call = test.call();
    const std::size_t at = (engine() % 900) * page;
    std::memcpy(mapping + at, test.operand(0).address(), test.operand(0).span_bytes());
    call.operands()[0].address = mapping + at;
    test.expect();
    const Outcome outcome = run(call);
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    test.expect_right("round " + std::to_string(round));
    test.refill_result();
    test.refill(0);
    const std::size_t larger = bytes + (round % 3) * 50 * page;
    void* target = round % 2 == 0 ? nullptr : mmap(nullptr, larger, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* moved = round % 2 == 0 ? mremap(mapping, bytes, larger, MREMAP_MAYMOVE)
                                 : mremap(mapping, bytes, larger, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    ASSERT_NE(moved, MAP_FAILED) << "round " << round << ": " << std::strerror(errno);
    mapping = static_cast<char*>(moved);
    bytes = larger;
  }
  munmap(mapping, bytes);
}

TEST_P(ResidencyPolicy, ForgetsMemoryThatWasReplaced) {
  START();
  const std::int64_t size = 100;
  const std::size_t bytes = size * size * 8;
  Case test(options_of(Routine::dgemm, size, size, size, 0), 0, Edge::first_element);
  for (int round = 0; round < 20; ++round) {
    run_and_check(test, "round " + std::to_string(round));
    if (HasFailure()) return;
    char* pages = test.operand(0).pages().begin();
    switch (round % 4) {
      case 0: ASSERT_EQ(munmap(pages, bytes), 0); [[fallthrough]];
      case 1:
        ASSERT_EQ(mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), pages);
        break;
      case 2: ASSERT_EQ(madvise(pages, bytes, MADV_DONTNEED), 0); break;
      default: {
        void* elsewhere = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memcpy(elsewhere, pages, bytes);
        static_cast<double*>(elsewhere)[5] = round;
        ASSERT_EQ(mremap(elsewhere, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, pages), pages);
      }
    }
    if (round % 8 < 4) test.refill(0);
  }
}

std::string name_of(const testing::TestParamInfo<Flavour>& info) {
  std::string name = info.param.policy + "_" + info.param.device + (info.param.soft_dirty() ? "_soft_dirty" : "");
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    , ResidencyPolicy,
    testing::Values(Flavour{"copy", "simulated"}, Flavour{"first-use", "simulated"}, Flavour{"stay", "simulated"},
                    Flavour{"stay", "delayed"}, Flavour{"stay", "pinning"}, Flavour{"stay", "cuda"},
                    Flavour{"copy", "delayed"}, Flavour{"first-use", "delayed"}, Flavour{"first-use", "pinning"},
                    Flavour{"past-mirrors", "pinning"}, Flavour{"past-mirrors", "cuda"}, Flavour{"copy", "cuda"},
                    Flavour{"first-use", "cuda"}, Flavour{"first-use", "simulated", tracking::TrackerKind::soft_dirty},
                    Flavour{"first-use", "delayed", tracking::TrackerKind::soft_dirty},
                    Flavour{"first-use", "pinning", tracking::TrackerKind::soft_dirty}, Flavour{"moves", "simulated"},
                    Flavour{"moves", "delayed"}, Flavour{"coherent", "simulated"}, Flavour{"coherent", "delayed"},
                    Flavour{"coherent", "cuda"}),
    name_of);

}  // namespace
}  // namespace blastoff::test
