// Calls of several threads while the driver takes long to page-lock, unlock, map or unmap memory, or to answer a
// question about it, or while the kernel takes long to protect pages: only those wait that need that memory.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "blas/front_end.h"
#include "held_device.h"
#include "held_tracker.h"
#include "ledger/page_bitmap.h"
#include "mapped_memory.h"
#include "product_call.h"
#include "reference_blas.h"
#include "residency_rig.h"

namespace blastoff::test {
namespace {

class DriverCalls : public testing::Test {
 protected:
  static constexpr std::int64_t order = 64;
  static constexpr std::size_t elements = order * order;
  static constexpr std::size_t matrices = 10;

  void SetUp() override {
    RigOptions options;
    options.held = held_;
    std::string reason;
    rig_ = Rig::create({"first-use", "simulated"}, options, reason);
    if (!rig_) GTEST_SKIP() << reason;
    for (std::size_t i = 0; i < matrices; ++i)
      for (std::size_t at = 0; at < elements; ++at) matrix(i)[at] = static_cast<double>((at * (i + 3)) % 7) - 3;
  }

  /// Each in device memory of its own.
  double* matrix(std::size_t number) const {
    const std::uintptr_t begin = (memory_.span().begin / ledger::chunk_bytes + 1) * ledger::chunk_bytes;
    return reinterpret_cast<double*>(begin + 2 * number * ledger::chunk_bytes);
  }

  static blas::Call product(double* a, double* b, double* c) { return product_call({a, b, c}, order, order, order); }

  /// C = A B, by the calling thread.
  void make(double* a, double* b, double* c) {
    std::vector<double> expected(elements);
    reference::compute(product(a, b, expected.data()));
    device::CallQueues queues = rig_->queues();
    const auto outcome = run_call(rig_->policy(), queues, product(a, b, c));
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_EQ(std::memcmp(c, expected.data(), elements * sizeof(double)), 0);
  }
  void make(std::size_t a, std::size_t b, std::size_t c) { make(matrix(a), matrix(b), matrix(c)); }

  /// Whether another thread gets through with all of it, though a call is held.
  template <class Work>
  static void expect_to_go_on(Work work, HeldCall& held) {
    auto others = std::async(std::launch::async, work);
    EXPECT_EQ(others.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    held.let_go();
  }
  /// The same while the first thread is held in its work.
  template <class Held, class Work>
  static void expect_to_go_on_beside(HeldCall& held, Held first, Work work) {
    held.hold_next();
    std::thread thread(first);
    held.wait_until_held();
    expect_to_go_on(work, held);
    thread.join();
  }

  const Memory memory_{(2 * matrices + 1) * ledger::chunk_bytes / platform::page_size()};
  const std::shared_ptr<HeldCalls> held_ = std::make_shared<HeldCalls>();
  std::unique_ptr<Rig> rig_;
};

TEST_F(DriverCalls, OthersGoOnWhileMemoryIsPageLocked) {
  make(0, 1, 2);
  make(0, 1, 2);
  make(0, 3, 4);
  ASSERT_EQ(held_->pins, 1);
  expect_to_go_on_beside(
      held_->pin, [&] { make(0, 3, 4); },  // the second time that the result goes there
      [&] {
        make(0, 1, 5);  // with matrices that are there
        make(6, 7, 8);
        make(6, 7, 8);
        EXPECT_EQ(held_->pins, 2);
      });
  EXPECT_EQ(held_->pins, 3);
}

TEST_F(DriverCalls, OthersGoOnWhileTheDriverIsAskedAboutMemory) {
  make(0, 1, 2);
  make(0, 3, 4);
  expect_to_go_on_beside(
      held_->question, [&] { make(0, 5, 2); },
      [&] {
        make(0, 3, 4);  // with matrices that are there; its result is page-locked
        EXPECT_EQ(held_->pins, 1);
        make(6, 7, 8);
      });
}

TEST_F(DriverCalls, OthersGoOnWhileMemoryIsMapped) {
  make(0, 1, 2);
  make(0, 3, 4);
  held_->back.hold_next();
  std::thread mapping([&] { make(0, 5, 2); });
  held_->back.wait_until_held();
  double* const neighbour = matrix(5) + elements;  // in the same memory
  std::memcpy(neighbour, matrix(1), elements * sizeof(double));
  std::thread waiting([&] { make(matrix(0), neighbour, matrix(6)); });
  expect_to_go_on(
      [&] {
        make(0, 3, 4);  // with matrices that are there
        make(7, 8, 9);
      },
      held_->back);
  mapping.join();
  waiting.join();
}

TEST_F(DriverCalls, OthersGoOnWhileMemoryIsUnlocked) {
  make(0, 1, 2);
  make(0, 3, 4);
  auto unmapped = std::make_unique<Memory>(elements * sizeof(double) / platform::page_size());
  for (int twice = 0; twice < 2; ++twice) make(matrix(0), matrix(1), reinterpret_cast<double*>(unmapped->page(0)));
  ASSERT_EQ(held_->pins, 1);
  held_->unpin.hold_next();
  unmapped.reset();
  std::thread unlocking([&] { make(0, 1, 2); });  // unless the thread that tidies up is faster
  held_->unpin.wait_until_held();
  expect_to_go_on(
      [&] {
        make(0, 3, 4);  // with matrices that are there
        make(6, 7, 8);
        make(6, 7, 8);  // has its result locked
        EXPECT_GE(held_->pins, 2);
      },
      held_->unpin);
  unlocking.join();
}

// The driver copies vectors itself, and its lists may still name what it is unlocking there.
TEST_F(DriverCalls, ACallWaitsUntilTheMemoryOfItsVectorsIsUnlocked) {
  make(0, 1, 2);
  make(0, 3, 4);
  auto unmapped = std::make_unique<Memory>(elements * sizeof(double) / platform::page_size());
  for (int twice = 0; twice < 2; ++twice) make(matrix(0), matrix(1), reinterpret_cast<double*>(unmapped->page(0)));
  ASSERT_EQ(held_->pins, 1);
  operation::Operation call = blas::operation_of(product(matrix(0), matrix(3), matrix(4)));
  call.add({.address = unmapped->page(0), .bytes = 64});
  held_->unpin.hold_next();
  unmapped.reset();
  std::thread unlocking([&] { make(0, 1, 2); });  // unless the thread that tidies up is faster
  held_->unpin.wait_until_held();
  device::CallQueues queues = rig_->queues();
  auto begun = std::async(std::launch::async, [&] { return rig_->policy().begin(call, queues).has_value(); });
  EXPECT_EQ(begun.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  held_->unpin.let_go();
  EXPECT_TRUE(begun.get());
  unlocking.join();
}

TEST_F(DriverCalls, OthersGoOnWhileMemoryIsUnmapped) {
  rig_->device().accountant().limit(device::MemoryClient::mirrors, 6 * ledger::chunk_bytes);
  for (const std::size_t other : {1U, 3U, 4U, 5U, 6U, 7U}) make(0, other, 2);
  held_->unback.hold_next();
  std::thread evicting([&] { make(0, 8, 2); });
  held_->unback.wait_until_held();
  std::thread waiting([&] { make(0, 3, 9); });  // its matrix may be the one that goes
  expect_to_go_on(
      [&] {
        make(0, 0, 7);  // with a matrix that is there
      },
      held_->unback);
  evicting.join();
  waiting.join();
  for (const std::size_t other : {1U, 3U, 4U, 5U}) make(0, other, 2);
}

TEST_F(DriverCalls, OthersGoOnWhileADeadMirrorIsUnmapped) {
  auto unmapped = std::make_unique<Memory>(elements * sizeof(double) / platform::page_size());
  make(0, 1, 2);
  make(matrix(0), matrix(1), reinterpret_cast<double*>(unmapped->page(0)));
  make(matrix(0), reinterpret_cast<double*>(unmapped->page(0)), matrix(2));
  held_->unback.hold_next();
  unmapped.reset();
  held_->unback.wait_until_held();  // the thread that tidies up
  expect_to_go_on(
      [&] {
        make(0, 1, 2);
        make(3, 4, 5);
        EXPECT_TRUE(rig_->policy().release_pins());
      },
      held_->unback);
}

// What has gone is in the way of what lies there next, and the same call finds both.
TEST_F(DriverCalls, WhatIsMappedWhereMemoryHasGoneWaitsForNobodyElse) {
  rig_->device().accountant().limit(device::MemoryClient::mirrors, 16 * ledger::chunk_bytes);  // none stays dead
  for (int round = 0; round < 20; ++round) {
    for (const std::size_t anew : {1U, 3U}) {
      ASSERT_EQ(madvise(matrix(anew), elements * sizeof(double), MADV_DONTNEED), 0);
      matrix(anew)[round] = 2;
    }
    make(1, 3, 2);
  }
}

TEST_F(DriverCalls, OthersGoOnWhileAddressesAreReserved) {
  expect_to_go_on_beside(
      held_->reserve, [&] { make(0, 1, 2); }, [&] { make(3, 4, 5); });
  make(0, 4, 2);
}

// Two calls of which only one fits at a time do not each take a part of the memory and fail both.
TEST_F(DriverCalls, OnlyTheCallThatComesLaterFindsTheBudgetSpent) {
  rig_->device().accountant().limit(device::MemoryClient::mirrors, 3 * ledger::chunk_bytes);
  held_->back.hold_next();
  std::thread mapping([&] { make(0, 1, 2); });
  held_->back.wait_until_held();
  device::CallQueues queues = rig_->queues();
  const auto later = run_call(rig_->policy(), queues, product(matrix(3), matrix(4), matrix(5)));
  ASSERT_TRUE(later.error);
  EXPECT_EQ(later.error->kind, device::ErrorKind::out_of_memory);
  held_->back.let_go();
  mapping.join();
  make(3, 4, 5);
}

class ProtectingScans : public DriverCalls {
 protected:
  void SetUp() override {
    DriverCalls::SetUp();
    if (testing::Test::IsSkipped()) return;
    auto tracker = tracking::open_page_tracker();
    ASSERT_TRUE(tracker) << tracker.error();
    SharedByDevices shared;
    shared.ledger = std::make_shared<ledger::Ledger>(std::make_unique<HeldTracker>(std::move(*tracker), scan_));
    std::string reason;
    rig_ = Rig::create({"first-use", "simulated"}, {}, reason, &shared);
    ASSERT_TRUE(rig_) << reason;
    make(0, 1, 2);
    make(0, 3, 4);
  }

  const std::shared_ptr<HeldCall> scan_ = std::make_shared<HeldCall>();
};

TEST_F(ProtectingScans, OthersGoOnWhilePagesAreProtected) {
  matrix(0)[5] = 9;
  scan_->hold_next();
  std::thread protecting([&] { make(0, 1, 2); });
  scan_->wait_until_held();
  expect_to_go_on(
      [&] {
        make(3, 1, 4);  // with matrices that are there
        make(6, 7, 8);
      },
      *scan_);
  protecting.join();
}

TEST_F(ProtectingScans, OthersGoOnWhilePagesOfAResultAreProtected) {
  make(0, 1, 2);
  scan_->hold_next();
  std::thread returning([&] { make(0, 1, 3); });  // through staging, so that the CPU writes the pages
  scan_->wait_until_held();
  expect_to_go_on([&] { make(0, 1, 4); }, *scan_);
  returning.join();
}

// The first one's scan has found what was written, and has not told yet.
TEST_F(ProtectingScans, ACallWaitsForTheFindingsOfOthersInItsMatrices) {
  matrix(0)[5] = 9;
  scan_->hold_next();
  std::thread protecting([&] { make(0, 1, 2); });
  scan_->wait_until_held();
  auto later = std::async(std::launch::async, [&] { make(0, 3, 4); });
  EXPECT_EQ(later.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  scan_->let_go();
  protecting.join();
  later.get();
}

// The results tell whether one of them has taken a page for current that another one's scan has found written.
TEST_F(ProtectingScans, ThreadsThatShareAMatrixSeeWhatIsWrittenBetweenTheirCalls) {
  constexpr std::size_t threads = 3;
  constexpr int rounds = 200;
  for (int round = 1; round <= rounds; ++round) {
    matrix(0)[static_cast<std::size_t>(round * 37) % elements] = round % 11;
    std::vector<std::thread> running;
    for (std::size_t who = 0; who < threads; ++who)
      running.emplace_back([&, who] { make(0, 1 + 2 * who, 2 + 2 * who); });
    for (std::thread& each : running) each.join();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace blastoff::test
