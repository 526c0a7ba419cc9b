// The data structures under the mirrors: footprints, mirror memory, usage.
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/open.h"
#include "ledger/ledger.h"
#include "platform/span.h"
#include "played_tracker.h"
#include "residency/footprint.h"
#include "residency/mirror/mirror_memory.h"
#include "residency/mirror/tracking_heuristic.h"

namespace blastoff::residency::mirror {
namespace {

using platform::Span;

operation::Operand operand_at(std::uintptr_t address, std::int64_t rows, std::int64_t columns,
                              std::int64_t leading_dimension) {
  operation::Operand operand;
  operand.address = reinterpret_cast<void*>(address);
  operand.rows = rows;
  operand.columns = columns;
  operand.leading_dimension = leading_dimension;
  operand.element_size = 8;
  return operand;
}

std::vector<Span> covered(const operation::Operand& operand) {
  std::vector<Span> runs;
  each_covered_run(operand, [&](Span run) { runs.push_back(run); });
  return runs;
}

std::vector<Span> filled(const operation::Operand& operand) {
  std::vector<Span> runs;
  each_filled_run(operand, [&](Span run) { runs.push_back(run); });
  return runs;
}

TEST(Footprint, ContiguousMatrixIsOneRunAndItsEdgePagesAreNotFilled) {
  const auto matrix = operand_at(0x10010, 1024, 2, 1024);  // 16 KiB from 16 bytes into a page
  EXPECT_EQ(covered(matrix), (std::vector<Span>{{0x10000, 0x15000}}));
  EXPECT_EQ(filled(matrix), (std::vector<Span>{{0x11000, 0x14000}}));
}

TEST(Footprint, WideGapsAreLeftOut) {
  const auto matrix = operand_at(0x10000, 512, 3, 4096);  // columns of one page, 32 KiB apart
  EXPECT_EQ(covered(matrix), (std::vector<Span>{{0x10000, 0x11000}, {0x18000, 0x19000}, {0x20000, 0x21000}}));
  EXPECT_EQ(filled(matrix), covered(matrix));
}

TEST(Footprint, ATriangleFillsOnlyItsOwnPages) {
  auto matrix = operand_at(0x10000, 1024, 1024, 1024);  // columns of two pages
  matrix.part = operation::Part::lower;
  const auto runs = filled(matrix);
  ASSERT_FALSE(runs.empty());
  EXPECT_EQ(runs[0], (Span{0x10000, 0x12000}));
  for (const Span run : runs) {
    const std::uintptr_t column = (run.begin - 0x10000) / 8192;
    EXPECT_GE(run.begin, 0x10000 + column * 8192 + column * 8);
  }
  matrix.part = operation::Part::upper;
  EXPECT_EQ(filled(matrix).size(), 1024U - 511U);  // columns from 511 on hold a whole page above the diagonal
}

std::vector<Span> spans_within(const operation::Operand& operand, Span range) {
  std::vector<Span> spans;
  each_span_within(operand, range, [&](Span span) { spans.push_back(span); });
  return spans;
}

TEST(Footprint, BytesOnAPageAreThoseOfTheColumnsThere) {
  auto matrix = operand_at(0x10100, 64, 40, 100);  // columns of 512 bytes, 800 apart
  EXPECT_EQ(spans_within(matrix, {0x10000, 0x10500}), (std::vector<Span>{{0x10100, 0x10300}, {0x10420, 0x10500}}));
  EXPECT_TRUE(spans_within(matrix, {0x10300, 0x10420}).empty());
  matrix = operand_at(0x10000, 64, 64, 100);
  matrix.part = operation::Part::lower;
  EXPECT_EQ(spans_within(matrix, {0x10000, 0x10400}), (std::vector<Span>{{0x10000, 0x10200}, {0x10328, 0x10400}}));
}

TEST(Footprint, PartsOfAMatrixAreCovered) {
  const auto whole = operand_at(0x10000, 100, 100, 120);
  EXPECT_TRUE(covers(whole, whole));
  EXPECT_TRUE(covers(whole, operand_at(0x10000 + 8 * (120 * 40 + 40), 60, 60, 120)));
  EXPECT_FALSE(covers(whole, operand_at(0x10000 + 8 * (120 * 40 + 41), 60, 60, 120)));
  EXPECT_FALSE(covers(whole, operand_at(0x10000 + 8 * (120 * 41), 60, 60, 120)));
  EXPECT_FALSE(covers(whole, operand_at(0x10000, 100, 50, 240)));
  EXPECT_FALSE(covers(whole, operand_at(0x10000, 120, 2, 120)));
  EXPECT_TRUE(covers(operand_at(0x10000, 120, 100, 120), operand_at(0x10000, 60, 190, 60)));  // no gaps
  auto triangle = operand_at(0x10000, 100, 100, 120);
  triangle.part = operation::Part::lower;
  auto inner = operand_at(0x10000 + 8 * 121 * 10, 50, 50, 120);
  EXPECT_FALSE(covers(triangle, inner));
  inner.part = operation::Part::lower;
  EXPECT_TRUE(covers(triangle, inner));
  EXPECT_TRUE(covers(triangle, operand_at(0x10000 + 8 * 49, 51, 50, 120)));
  EXPECT_FALSE(covers(triangle, operand_at(0x10000 + 8 * 48, 51, 50, 120)));
  EXPECT_FALSE(covers(triangle, whole));
}

TEST(UsedBytes, WordsUsedInPartAreNotUsed) {
  const auto used = std::make_unique<ledger::UsedBytes>();
  used->set({0x10002, 0x1000e});
  EXPECT_TRUE(used->all({0x10004, 0x1000c}));
  EXPECT_FALSE(used->all({0x10002, 0x1000c}));
  EXPECT_FALSE(used->all({0x10004, 0x1000e}));
  used->clear({0x10000, 0x11000});
  EXPECT_FALSE(used->all({0x10004, 0x10008}));
}

TEST(KnownOperands, RemembersTheLatestAndForgetsWhatOthersLack) {
  const auto known = std::make_unique<KnownOperands>();
  const auto block = [](int number) {
    return operand_at(0x10000 + 80 * static_cast<std::uintptr_t>(number), 10, 5, 500);
  };
  for (int i = 0; i < 20; ++i) known->remember(block(i));
  EXPECT_FALSE(known->remembers(block(3)));
  EXPECT_TRUE(known->remembers(block(4)));
  EXPECT_TRUE(known->remembers(block(19)));
  const auto blocks_0_to_4 = operand_at(0x10000, 50, 5, 500);
  known->forget_others({0x20000, 0x21000}, blocks_0_to_4);  // where none of them lies
  EXPECT_TRUE(known->remembers(block(5)));
  known->forget_others({0x10000, 0x11000}, blocks_0_to_4);
  EXPECT_TRUE(known->remembers(block(4)));
  EXPECT_FALSE(known->remembers(block(5)));
}

class MirrorMemoryTest : public testing::Test {
 protected:
  static std::unique_ptr<device::Device> open_simulated() {
    device::Choice choice;
    choice.name = "simulated";
    choice.simulated_memory = 64 * chunk_bytes;
    return std::move(*device::open(choice));
  }
  // Addresses of the program's that no memory is needed behind.
  static constexpr std::uintptr_t host = std::uintptr_t{1} << 40;

  static bool backed(const MirrorMemory& mirrors, Span span) {
    return mirrors.each_backing(span, [](Backing&) {});
  }

  void limit_mirrors(std::size_t bytes) { device_->accountant().limit(device::MemoryClient::mirrors, bytes); }

  std::unique_ptr<device::Device> device_ = open_simulated();
  ledger::Ledger ledger_{std::make_unique<test::PlayedTracker>()};
  ledger::Place place_{ledger_};
  RunningCalls running_{*device_};
  std::mutex mutex_;
  const std::unique_lock<std::mutex> lock_{mutex_};
  std::condition_variable changed_;
};

TEST_F(MirrorMemoryTest, TheFirstMatrixIsAlignedOnTheDevice) {
  limit_mirrors(4 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  const std::uintptr_t matrix = host + 16;
  auto held = mirrors.back({{host, host + chunk_bytes}}, matrix);  // its last page reaches into the next granule
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(mirrors.device_address(matrix) % 256, 0U);
  EXPECT_TRUE(backed(mirrors, {host, host + chunk_bytes}));
  auto* last_byte = reinterpret_cast<char*>(mirrors.device_address(host + chunk_bytes - 1));
  *last_byte = 1;  // faults where nothing is behind it
  mirrors.unhold(*held);
}

TEST_F(MirrorMemoryTest, DistancesAreKept) {
  limit_mirrors(32 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  auto first = mirrors.back({{host, host + 4096}}, host);
  auto second = mirrors.back({{host + 5 * chunk_bytes, host + 6 * chunk_bytes}}, host);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(mirrors.device_address(host + 5 * chunk_bytes) - mirrors.device_address(host), 5 * chunk_bytes);
  mirrors.unhold(*first);
  mirrors.unhold(*second);
}

TEST_F(MirrorMemoryTest, LeastRecentlyUsedGoesFirstAndTakesItsPagesWithIt) {
  limit_mirrors(2 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  const Span a{host, host + chunk_bytes};
  const Span b{host + 10 * chunk_bytes, host + 11 * chunk_bytes};
  const Span c{host + 20 * chunk_bytes, host + 21 * chunk_bytes};
  const auto use = [&](Span span) {
    auto held = mirrors.back({span}, host);
    ASSERT_TRUE(held) << held.error().message;
    mirrors.find(span.begin)->copy->current.set(0, 512);
    mirrors.unhold(*held);
  };
  use(a);
  use(b);
  use(a);
  use(c);  // evicts b
  EXPECT_TRUE(backed(mirrors, a));
  EXPECT_FALSE(backed(mirrors, b));
  EXPECT_EQ(mirrors.find(b.begin), nullptr);
  EXPECT_TRUE(backed(mirrors, c));
  EXPECT_TRUE(mirrors.find(c.begin)->copy->current.all(0, 512));
}

/// Matrices of one chunk each, of which four fit.
class MirrorEviction : public MirrorMemoryTest {
 protected:
  MirrorEviction() { limit_mirrors(4 * chunk_bytes); }

  /// A call uses these matrices.
  void use(std::initializer_list<std::size_t> matrices) {
    std::vector<Span> runs;
    for (const std::size_t i : matrices) {
      runs.push_back({host + 10 * i * chunk_bytes, host + (10 * i + 1) * chunk_bytes});
      missing_ += backed(mirrors_, runs.back()) ? 0 : 1;
    }
    auto held = mirrors_.back(runs, host);
    ASSERT_TRUE(held) << held.error().message;
    mirrors_.unhold(*held);
  }
  /// How many were missing since this was asked.
  int missing() { return std::exchange(missing_, 0); }

  MirrorMemory mirrors_{*device_, place_, running_, mutex_, changed_};

 private:
  int missing_ = 0;
};

TEST_F(MirrorEviction, OfMoreMatricesThanFitSomeAreFoundEachTime) {
  for (const std::size_t matrices : {5U, 6U, 8U, 12U}) {
    const auto go_through_all = [&] {
      for (std::size_t i = 0; i < matrices; ++i) use({i});
    };
    for (int round = 0; round < 4; ++round) go_through_all();
    missing();
    constexpr int rounds = 8;
    for (int round = 0; round < rounds; ++round) go_through_all();
    // At best three of four stay, and the fourth piece of memory serves the others.
    EXPECT_LE(missing(), rounds * static_cast<int>(matrices - 2)) << matrices;
  }
}

// Each begins in the piece of memory in which the one before ends.
TEST_F(MirrorEviction, OfNeighboursThatShareMemorySomeAreFoundEachTime) {
  limit_mirrors(48 * chunk_bytes);
  constexpr std::size_t pairs = 21;
  constexpr std::size_t bytes = 11 * chunk_bytes / 8;
  constexpr std::size_t part = chunk_bytes / 8;
  std::size_t missing = 0;
  const auto go_through_all = [&] {
    for (std::size_t i = 0; i < pairs; ++i) {
      std::vector<Span> pair;
      for (const std::uintptr_t begin : {host, host + 100 * chunk_bytes}) {
        pair.push_back({begin + i * bytes, begin + (i + 1) * bytes});
        for (std::uintptr_t at = pair.back().begin; at < pair.back().end; at += part)
          missing += backed(mirrors_, {at, at + part}) ? 0 : part;
      }
      auto held = mirrors_.back(pair, host);
      ASSERT_TRUE(held) << held.error().message;
      mirrors_.unhold(*held);
    }
  };
  for (int round = 0; round < 4; ++round) go_through_all();
  missing = 0;
  for (int round = 0; round < 4; ++round) go_through_all();
  EXPECT_LE(missing, 4 * pairs * 2 * bytes / 2) << "a fifth does not fit";
}

TEST_F(MirrorEviction, WhatAllCallsUseStays) {
  for (int round = 0; round < 4; ++round)
    for (std::size_t i = 1; i < 8; ++i) use({0, i});
  missing();
  for (std::size_t i = 1; i < 8; ++i) {
    use({0});
    EXPECT_EQ(missing(), 0);
    use({0, i});
    missing();
  }
}

TEST_F(MirrorEviction, MatricesOfOnePartOfAProgramGiveWayToThoseOfTheNext) {
  const auto work_on = [&](std::size_t first, int rounds) {
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < 3; ++i) use({first + i});
  };
  for (int round = 0; round < 4; ++round) {
    for (const std::size_t first : {0U, 3U}) {
      missing();
      work_on(first, 2);
      EXPECT_LE(missing(), 3 + 3) << "while they come";
      work_on(first, 8);
      EXPECT_EQ(missing(), 0) << round;
    }
  }
}

TEST_F(MirrorEviction, NothingGoesForACallThatCannotFit) {
  use({0, 1, 2, 3});
  auto held = mirrors_.back({{host + 100 * chunk_bytes, host + 105 * chunk_bytes}}, host);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().kind, device::ErrorKind::out_of_memory);
  missing();
  use({0, 1, 2, 3});
  EXPECT_EQ(missing(), 0);
}

TEST_F(MirrorMemoryTest, WhatIsHeldStaysAndTheRestIsRefused) {
  limit_mirrors(2 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  auto held = mirrors.back({{host, host + 2 * chunk_bytes}}, host);
  ASSERT_TRUE(held);
  auto refused = mirrors.back({{host + 4 * chunk_bytes, host + 5 * chunk_bytes}}, host);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, device::ErrorKind::out_of_memory);
  mirrors.unhold(*held);
  auto now = mirrors.back({{host + 4 * chunk_bytes, host + 5 * chunk_bytes}}, host);
  EXPECT_TRUE(now);
  if (now) mirrors.unhold(*now);
}

TEST_F(MirrorMemoryTest, WhatAnotherDeviceCopiesStays) {
  limit_mirrors(2 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  const Span lent{host, host + chunk_bytes};
  const Span others{host + 4 * chunk_bytes, host + 6 * chunk_bytes};
  auto held = mirrors.back({lent}, host);
  ASSERT_TRUE(held);
  mirrors.find(lent.begin)->copy->current.set(0, 512);
  mirrors.unhold(*held);
  ledger::Place other(ledger_);
  const std::array<std::size_t, 1> from = {place_.number()};
  {
    const auto loan = other.who_has({lent}, from, [](const ledger::Copy&, Span) { return false; });
    ASSERT_EQ(loan.runs().size(), 1U);
    EXPECT_EQ(loan.runs().front().device, mirrors.device_address(lent.begin));
    EXPECT_FALSE(mirrors.back({others}, host));
    mirrors.forget(lent);
    mirrors.release_idle();
    EXPECT_TRUE(backed(mirrors, lent));
  }
  auto now = mirrors.back({others}, host);
  EXPECT_TRUE(now);
  if (now) mirrors.unhold(*now);
  EXPECT_FALSE(backed(mirrors, lent));
}

TEST_F(MirrorMemoryTest, WhatIsNotHeldIsGivenBackAtOnce) {
  limit_mirrors(4 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  const Span used{host, host + chunk_bytes};
  const Span idle{host + 10 * chunk_bytes, host + 11 * chunk_bytes};
  auto held = mirrors.back({used}, host);
  auto unheld = mirrors.back({idle}, host);
  ASSERT_TRUE(held && unheld);
  mirrors.find(idle.begin)->copy->current.set(0, 512);
  mirrors.unhold(*unheld);
  mirrors.release_idle();
  EXPECT_TRUE(backed(mirrors, used));
  EXPECT_FALSE(backed(mirrors, idle));
  EXPECT_EQ(mirrors.find(idle.begin), nullptr);
  EXPECT_EQ(device_->accountant().held(device::MemoryClient::mirrors).now, chunk_bytes);
  mirrors.unhold(*held);
}

/// Device memory follows the memory that it mirrors.
class MirrorsOfLostMemory : public MirrorMemoryTest {
 protected:
  MirrorsOfLostMemory() { limit_mirrors(64 * chunk_bytes); }

  /// A call uses the span, and leaves all of it current.
  void use(Span span) {
    auto held = mirrors_.back({span}, host);
    ASSERT_TRUE(held) << held.error().message;
    mirrors_.each_chunk(
        span, [](Chunk& chunk, std::size_t first, std::size_t last) { chunk.copy->current.set(first, last); });
    mirrors_.unhold(*held);
  }
  static Span chunks(std::size_t first, std::size_t count) {
    return {host + first * chunk_bytes, host + (first + count) * chunk_bytes};
  }
  static Span pages(std::size_t first, std::size_t count) {
    return {host + first * platform::page_size(), host + (first + count) * platform::page_size()};
  }
  std::size_t mirrored() { return device_->accountant().held(device::MemoryClient::mirrors).now; }

  MirrorMemory mirrors_{*device_, place_, running_, mutex_, changed_};
};

TEST_F(MirrorsOfLostMemory, ItsMemoryAndItsRecordsGo) {
  use(chunks(0, 1));
  use(chunks(200, 1));
  mirrors_.find(host)->copy->used = std::make_unique<ledger::UsedBytes>();
  mirrors_.forget(chunks(0, 1));
  EXPECT_TRUE(mirrors_.any_dead());
  EXPECT_FALSE(mirrors_.release_dead(1000));
  EXPECT_TRUE(mirrors_.release_dead(0));
  EXPECT_FALSE(mirrors_.any_dead());
  EXPECT_FALSE(mirrors_.release_dead(0));
  EXPECT_EQ(mirrored(), chunk_bytes);
  EXPECT_EQ(mirrors_.find(host), nullptr);
  EXPECT_TRUE(mirrors_.find(chunks(200, 1).begin)->copy->current.all(0, max_pages_per_chunk));
  const auto again = mirrors_.back({chunks(0, 1)}, host);
  ASSERT_TRUE(again);
  EXPECT_EQ(mirrors_.find(host)->copy->used, nullptr) << "the ledger has forgotten it, too";
  mirrors_.unhold(*again);
}

TEST_F(MirrorsOfLostMemory, LittleOfItStays) {
  for (std::size_t i = 0; i < 100; ++i) {
    use(chunks(4 * i, 1));
    mirrors_.forget(chunks(4 * i, 1));
    mirrors_.unmap_evicted();
    EXPECT_LE(mirrored(), chunk_bytes);
  }
}

TEST_F(MirrorsOfLostMemory, WhatIsMappedThereNextFindsMemoryButNothingCurrent) {
  use(chunks(0, 1));
  mirrors_.forget(chunks(0, 1));
  auto held = mirrors_.back({chunks(0, 1)}, host);
  ASSERT_TRUE(held);
  EXPECT_FALSE(mirrors_.any_dead());
  EXPECT_FALSE(mirrors_.find(host)->copy->current.any(0, max_pages_per_chunk));
  mirrors_.unhold(*held);
  EXPECT_EQ(mirrored(), chunk_bytes);
}

TEST_F(MirrorsOfLostMemory, ItMakesRoomBeforeAllOther) {
  limit_mirrors(4 * chunk_bytes);
  use(chunks(0, 1));
  use(chunks(10, 1));
  use(chunks(20, 1));
  use(chunks(30, 1));
  limit_mirrors(64 * chunk_bytes);
  mirrors_.forget(chunks(30, 1));
  limit_mirrors(4 * chunk_bytes);
  use(chunks(40, 1));
  for (const std::size_t living : {0U, 10U, 20U, 40U}) EXPECT_TRUE(backed(mirrors_, chunks(living, 1))) << living;
}

TEST_F(MirrorsOfLostMemory, AChunkGoesWithTheLastOfItsMatrices) {
  use(pages(0, 100));
  use(pages(100, 100));
  mirrors_.forget(pages(0, 100));
  EXPECT_FALSE(mirrors_.any_dead());
  EXPECT_TRUE(mirrors_.find(host)->copy->current.all(100, 200));
  mirrors_.forget(pages(100, 100));
  EXPECT_TRUE(mirrors_.any_dead());
}

TEST_F(MirrorsOfLostMemory, AMatrixGoesThoughItsNeighbourReachesIntoItsMemory) {
  const std::size_t few = 3 * platform::page_size();
  const Span matrix{host, chunks(8, 1).begin - few};
  use(matrix);
  use({matrix.end, chunks(8, 4).end});
  mirrors_.forget(matrix);
  mirrors_.unmap_evicted();
  EXPECT_EQ(mirrored(), 4 * chunk_bytes);
  EXPECT_FALSE(mirrors_.find(matrix.end)->copy->current.any(0, max_pages_per_chunk));
  EXPECT_TRUE(mirrors_.find(chunks(8, 1).begin)->copy->current.all(0, max_pages_per_chunk));
}

TEST_F(MirrorsOfLostMemory, WhatACallHoldsGoesWhenTheCallEnds) {
  auto held = mirrors_.back({chunks(0, 1)}, host);
  ASSERT_TRUE(held);
  mirrors_.forget(chunks(0, 1));
  EXPECT_FALSE(mirrors_.any_dead());
  EXPECT_FALSE(mirrors_.release_dead(0));
  mirrors_.unhold(*held);
  EXPECT_TRUE(mirrors_.release_dead(0));
  EXPECT_EQ(mirrored(), 0U);
}

TEST_F(MirrorMemoryTest, OverlappingRunsAreBackedOnce) {
  limit_mirrors(3 * chunk_bytes);
  MirrorMemory mirrors(*device_, place_, running_, mutex_, changed_);
  auto held = mirrors.back({{host, host + 2 * chunk_bytes}, {host + chunk_bytes, host + 3 * chunk_bytes}}, host);
  ASSERT_TRUE(held) << held.error().message;
  mirrors.unhold(*held);
}

/// Calls with one operand.
struct UsageTest : testing::Test {
  std::vector<double> elements = std::vector<double>(256 * 256);
  operation::Operation call = with(operation::Intent::read);
  TrackingHeuristic heuristic{std::size_t{1} << 20};

  operation::Operation with(operation::Intent intent) {
    operation::Operation made;
    auto operand = operand_at(reinterpret_cast<std::uintptr_t>(elements.data()), 256, 256, 256);
    operand.intent = intent;
    made.add(operand);
    return made;
  }
  operation::Operand& matrix() { return call.operands()[0]; }
  void fill(double value) { std::fill(elements.begin(), elements.end(), value); }
  bool tracked() { return heuristic.worth_tracking(call, 0); }
  static Look written(std::size_t pages) {
    return {.pages = 128, .kept = 128 - pages, .written = pages, .faults = pages};
  }
  void use() {
    tracked();
    heuristic.used(call, 0);
  }
  /// The device reads a part of a result, its first column or the others. Then the next of its kind is tracked.
  void expect_read_by_part(bool first_column) {
    call = with(operation::Intent::write);
    EXPECT_FALSE(tracked());
    heuristic.used(call, 0);
    call = with(operation::Intent::read);
    if (!first_column) matrix().address = elements.data() + 256;
    matrix().columns = first_column ? 1 : 255;
    EXPECT_TRUE(tracked());
    heuristic.used(call, 0);
    heuristic.forget({0, UINTPTR_MAX});
    call = with(operation::Intent::write);
    EXPECT_TRUE(tracked());
  }
  /// Uses without a change until the matrix is tracked.
  int uses_until_tracked() {
    int uses = 0;
    while (!tracked() && uses < 100) {
      heuristic.used(call, 0);
      ++uses;
    }
    return uses;
  }
};

TEST_F(UsageTest, AMatrixWrittenAnewIsCopiedUntilItStaysAsItIs) {
  EXPECT_TRUE(tracked());
  EXPECT_FALSE(heuristic.looked_at(call, 0, written(3)));
  EXPECT_TRUE(tracked());
  EXPECT_TRUE(heuristic.looked_at(call, 0, written(128)));
  heuristic.used(call, 0);
  for (int use = 1; use <= 20; ++use) {
    fill(use);
    EXPECT_FALSE(tracked());
    heuristic.used(call, 0);
  }
  const int first_patience = uses_until_tracked();
  EXPECT_LT(first_patience, 100);
  EXPECT_TRUE(heuristic.looked_at(call, 0, written(128)));
  heuristic.used(call, 0);
  EXPECT_GT(uses_until_tracked(), first_patience);  // ever more rarely
}

TEST_F(UsageTest, ManyUsesPayForAMirrorThatIsRewrittenThen) {
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 10; ++i) use();
    EXPECT_FALSE(heuristic.looked_at(call, 0, written(128)));
    EXPECT_TRUE(tracked());
  }
}

/// As in an LU factorization: the program fills the matrix anew, and the call that looks at it first uses a few rows of
/// it, which reach from its begin to its end.
TEST_F(UsageTest, UsesOfBlocksDoNotCountForRowsBesideThem) {
  use();
  const operation::Operand whole = matrix();
  for (int block = 1; block <= 20; ++block) {
    matrix().address = elements.data() + static_cast<std::ptrdiff_t>(block) * 257;
    matrix().rows = matrix().columns = 256 - block;
    use();
  }
  matrix() = whole;
  matrix().rows = 1;
  matrix().address = elements.data();
  EXPECT_TRUE(heuristic.looked_at(call, 0, written(128)));
  matrix() = whole;
  matrix().address = elements.data();
  EXPECT_FALSE(heuristic.looked_at(call, 0, written(128)));
}

/// As in an LU factorization: the CPU rewrites the first columns of what a call has used, and the next call has the
/// rest.
struct SmallerPartsTest : UsageTest {
  std::int64_t parts = 0;
  bool mirrored = false;

  void next_part() {
    ++parts;
    matrix().address = elements.data() + 257 * parts;
    matrix().rows = matrix().columns = 256 - parts;
  }
  /// The CPU writes so many pages from there on.
  void write(const double* first, std::size_t count) {
    std::uintptr_t at = platform::outward_to_pages({reinterpret_cast<std::uintptr_t>(first), UINTPTR_MAX}).begin;
    for (; count > 0; --count, at += platform::page_size()) heuristic.faulted({at, at + platform::page_size()});
  }
  /// A call uses the next part, of whose own pages none has been written. Whether it is tracked.
  bool use_part() {
    next_part();
    const Look look{.pages = 128, .kept = std::exchange(mirrored, tracked()) ? std::size_t{128} : 0};
    if (mirrored && heuristic.asks(call, 0)) mirrored = !heuristic.looked_at(call, 0, look);
    heuristic.used(call, 0);
    return mirrored;
  }
};

TEST_F(SmallerPartsTest, FaultsOnOthersPagesCountForTheMirrorThatHadThem) {
  EXPECT_TRUE(use_part());
  EXPECT_TRUE(use_part());
  write(elements.data() + 1024, 15);
  EXPECT_TRUE(use_part()) << "few";
  write(elements.data() + 1024, 40);
  EXPECT_FALSE(use_part());
  int uses = 1;
  while (!use_part()) ++uses;
  EXPECT_EQ(uses, 32) << "that most has stayed does not tell that a mirror pays";
  write(elements.data() + 4096, 40);
  EXPECT_FALSE(use_part());
  for (uses = 1; !use_part();) ++uses;
  EXPECT_EQ(uses, 64) << "ever more rarely";
}

TEST_F(SmallerPartsTest, FaultsOfOneUseDoNotCountForTheNext) {
  EXPECT_TRUE(use_part());
  for (int i = 0; i < 20; ++i) {
    write(elements.data() + 4096, 15);
    EXPECT_TRUE(use_part());
  }
}

TEST_F(SmallerPartsTest, FaultsElsewhereDoNotCount) {
  EXPECT_TRUE(use_part());
  write(elements.data() + elements.size() + 512, 100);
  EXPECT_FALSE(heuristic.asks(call, 0));
  write(elements.data() + 4096, 100);
  EXPECT_TRUE(heuristic.asks(call, 0));
  std::vector<double> others(256 * 256);
  matrix().address = others.data();
  EXPECT_FALSE(heuristic.asks(call, 0)) << "it lies elsewhere";
}

TEST_F(SmallerPartsTest, FaultsOnWhatStayedOrWasFreedDoNotCount) {
  EXPECT_TRUE(use_part());
  heuristic.stayed(call, 0);
  write(elements.data() + 4096, 100);
  EXPECT_FALSE(heuristic.asks(call, 0));
  heuristic.used(call, 0);
  write(elements.data() + 4096, 100);
  heuristic.forget(bounds(matrix()));
  EXPECT_FALSE(heuristic.asks(call, 0));
}

/// A program that works on tiles in turn, and rewrites all of them before each turn.
TEST_F(UsageTest, OfManyTilesNoneIsForgotten) {
  for (const std::size_t tiles : {5'000U, 10'000U}) {
    TrackingHeuristic of_tiles{std::size_t{1} << 20, [](const operation::Operand&) { return 0; }};
    const auto for_each_tile = [&](auto&& visit) {
      for (std::size_t i = 0; i < tiles; ++i) {
        matrix().address = reinterpret_cast<void*>((std::uintptr_t{1} << 40) + i * chunk_bytes);
        visit();
        of_tiles.used(call, 0);
      }
    };
    for_each_tile([&] { of_tiles.worth_tracking(call, 0); });
    for_each_tile([&] {
      of_tiles.worth_tracking(call, 0);
      of_tiles.looked_at(call, 0, written(128));
    });
    std::size_t tracked_again = 0;
    for_each_tile([&] { tracked_again += of_tiles.worth_tracking(call, 0) ? 1 : 0; });
    EXPECT_EQ(tracked_again, 0U) << tiles;
  }
}

TEST_F(UsageTest, AResultIsCopiedUntilOneOfItsKindIsRead) {
  call = with(operation::Intent::write);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(tracked()) << "to be written once more tells nothing";
    heuristic.used(call, 0);
  }
  call = with(operation::Intent::read);
  EXPECT_TRUE(tracked()) << "as the device has left it";
  heuristic.used(call, 0);
  heuristic.forget(bounds(matrix()));
  call = with(operation::Intent::write);
  EXPECT_TRUE(tracked()) << "the next may be read, too";
}

TEST_F(UsageTest, AResultThatTheProgramChangesBeforeItIsReadIsCopied) {
  for (int i = 0; i < 3; ++i) {
    call = with(operation::Intent::write);
    EXPECT_FALSE(tracked());
    heuristic.used(call, 0);
    fill(i + 1);
    call = with(operation::Intent::read);
    EXPECT_FALSE(tracked());
    heuristic.used(call, 0);
    heuristic.forget(bounds(matrix()));
  }
}

TEST_F(UsageTest, AResultIsReadWhereItsFirstColumnIs) {
  expect_read_by_part(true);
}

TEST_F(UsageTest, AResultIsReadWhereAPartOfItIs) {
  expect_read_by_part(false);
}

TEST_F(UsageTest, ResultsAndUpdatesAreKindsOfTheirOwn) {
  call = with(operation::Intent::update);
  EXPECT_TRUE(tracked());
  heuristic.used(call, 0);
  heuristic.forget(bounds(matrix()));
  call = with(operation::Intent::write);
  EXPECT_FALSE(tracked());
  heuristic.used(call, 0);
  EXPECT_FALSE(heuristic.copied(call, 0)) << "the CPU is not known to rewrite it";
  heuristic.forget(bounds(matrix()));
  call = with(operation::Intent::update);
  EXPECT_TRUE(tracked());
}

TEST_F(UsageTest, AResultThatIsNeverReadIsCopied) {
  use();
  call = with(operation::Intent::write);
  int uses = 0;
  while (tracked() && uses < 100) {
    EXPECT_EQ(heuristic.used(call, 0), uses == 3) << "says so once";
    ++uses;
  }
  EXPECT_EQ(uses, 4);
  call = with(operation::Intent::read);
  EXPECT_TRUE(tracked());
  heuristic.used(call, 0);
  call = with(operation::Intent::write);
  EXPECT_TRUE(tracked()) << "it has been read";
}

TEST_F(UsageTest, NewMemoryIsGivenAChance) {
  ASSERT_TRUE(tracked());
  ASSERT_TRUE(heuristic.looked_at(call, 0, written(128)));
  ASSERT_FALSE(tracked());
  heuristic.forget(bounds(matrix()));
  EXPECT_TRUE(tracked());
}

TEST_F(UsageTest, AfterSomeOfAKindThatWereUsedOnceTheNextAreCopiedUntilOneIsUsedAgain) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(tracked()) << i;
    heuristic.used(call, 0);
    heuristic.forget(bounds(matrix()));
  }
  EXPECT_FALSE(tracked());
  heuristic.used(call, 0);
  EXPECT_TRUE(tracked()) << "it is used again, and has not changed";
  heuristic.used(call, 0);
  heuristic.forget(bounds(matrix()));
  EXPECT_TRUE(tracked()) << "so may be the next";
}

TEST_F(UsageTest, TellsALaterRunWhatIsUsedOnce) {
  const auto in_later_run = [&] {
    TrackingHeuristic later{std::size_t{1} << 20};
    later.expect_used_once(heuristic.used_once());
    return later.worth_tracking(call, 0);
  };
  EXPECT_TRUE(heuristic.used_once().empty());
  use();
  EXPECT_TRUE(heuristic.used_once().empty()) << "it may be used again";
  heuristic.forget(bounds(matrix()));
  EXPECT_EQ(heuristic.used_once().size(), 1U);
  EXPECT_FALSE(in_later_run());
  EXPECT_TRUE(tracked()) << "once is not enough within a run";
  heuristic.used(call, 0);
  use();
  EXPECT_TRUE(heuristic.used_once().empty()) << "the latest was used again";
  EXPECT_TRUE(in_later_run());
}

TEST_F(UsageTest, WhatALaterRunUsesAgainItTracksNextTime) {
  use();
  heuristic.forget(bounds(matrix()));
  TrackingHeuristic later{std::size_t{1} << 20};
  later.expect_used_once(heuristic.used_once());
  EXPECT_FALSE(later.worth_tracking(call, 0));
  later.used(call, 0);
  EXPECT_TRUE(later.worth_tracking(call, 0)) << "it has not changed";
  later.used(call, 0);
  later.forget(bounds(matrix()));
  EXPECT_TRUE(later.worth_tracking(call, 0));
  EXPECT_TRUE(later.used_once().empty());
}

TEST_F(UsageTest, WhatALaterRunDoesNotMeetIsForgotten) {
  use();
  heuristic.forget(bounds(matrix()));
  TrackingHeuristic later{std::size_t{1} << 20};
  later.expect_used_once(heuristic.used_once());
  EXPECT_TRUE(later.used_once().empty());
}

TEST_F(UsageTest, OfResultsNothingIsTold) {
  call = with(operation::Intent::write);
  for (int i = 0; i < 3; ++i) {
    use();
    heuristic.forget(bounds(matrix()));
  }
  EXPECT_TRUE(heuristic.used_once().empty()) << "they are expected to be used once anyway";
}

TEST_F(UsageTest, CopiesNewMatricesThatTheCpuRewrites) {
  for (int i = 0; i < 4; ++i) {
    use();
    heuristic.forget(bounds(matrix()));
  }
  for (int i = 0; i < 10; ++i) {
    fill(i);
    EXPECT_FALSE(tracked());
    heuristic.used(call, 0);
  }
}

/// Parts of one matrix, each smaller than the one before and at another address.
struct UsageOfParts : UsageTest {
  UsageOfParts() { call = with(operation::Intent::update); }
  /// The call of this number. `rewritten`: the CPU has written all that an earlier one has left. True: it was tracked.
  bool step(int number, bool rewritten) {
    matrix().address = elements.data() + static_cast<std::ptrdiff_t>(number) * 257;
    matrix().rows = matrix().columns = 256 - number;
    if (rewritten) fill(number);
    const bool worth = tracked();
    const auto pages = static_cast<std::size_t>(matrix().columns) / 2;
    const std::size_t held = std::exchange(mirrored_, worth) ? pages : 0;
    if (worth && held > 0)
      mirrored_ = !heuristic.looked_at(call, 0,
                                       {.pages = pages,
                                        .kept = rewritten ? 0 : held,
                                        .written = rewritten ? held : 0,
                                        .faults = rewritten ? held : 0});
    heuristic.used(call, 0);
    return mirrored_;
  }

 private:
  bool mirrored_ = false;
};

TEST_F(UsageOfParts, AreCopiedWhereThoseBeforeWereRewritten) {
  int tracked = 0;
  for (int number = 0; number < 120; ++number) tracked += step(number, true) ? 1 : 0;
  EXPECT_EQ(tracked, 1) << "the first one";
}

TEST_F(UsageOfParts, AreTrackedWhereThoseBeforeStayedAsTheyWere) {
  for (int number = 0; number < 120; ++number) EXPECT_TRUE(step(number, false)) << number;
}

TEST_F(UsageOfParts, AreTrackedAgainWhenTheProgramHasChanged) {
  for (int number = 0; number < 20; ++number) step(number, true);
  int copied = 0;
  while (copied < 100 && !step(20 + copied, false)) ++copied;
  EXPECT_GE(copied, 3);
  EXPECT_LE(copied, 5);
  for (int number = 21 + copied; number < 60; ++number) EXPECT_TRUE(step(number, false)) << number;
}

TEST_F(UsageOfParts, AreTriedEverMoreRarelyWhereNothingCanBeCompared) {
  int tracked = 0;
  constexpr std::size_t few_rows = 2;  // of each part, none of which is a part of another one
  call = with(operation::Intent::read);
  matrix().rows = few_rows;
  for (int number = 0; number < 120; ++number) {
    matrix().address = elements.data() + static_cast<std::ptrdiff_t>(number) * few_rows;
    const bool worth = this->tracked();
    tracked += worth ? 1 : 0;
    if (worth) heuristic.looked_at(call, 0, {.pages = 128, .kept = 0, .written = 0, .faults = 100});
    heuristic.used(call, 0);
  }
  EXPECT_LE(tracked, 4);
  EXPECT_GE(tracked, 2);
}

TEST_F(UsageOfParts, AreNoMatterOfOtherOperandsOfTheRoutine) {
  for (int number = 0; number < 20; ++number) step(number, true);
  operation::Operation other = with(operation::Intent::read);
  other.add(call.operands()[0]);
  other.operands()[1].address = elements.data() + 100 * 257;
  EXPECT_TRUE(heuristic.worth_tracking(other, 1));
}

TEST_F(UsageTest, AFewWritesToEachColumnCostMoreThanCopyingAllOfIt) {
  use();
  EXPECT_TRUE(heuristic.looked_at(call, 0, {.pages = 128, .kept = 108, .written = 20, .faults = 20}));
}

TEST_F(UsageTest, WhereCopiesAreSlowTheyDoNot) {
  for (int i = 0; i < 32; ++i)
    heuristic.learn_bringing(TrackingHeuristic::tells_rate,
                             1e-5 * static_cast<double>(TrackingHeuristic::tells_rate) / 4096);
  use();
  EXPECT_FALSE(heuristic.looked_at(call, 0, {.pages = 128, .kept = 108, .written = 20, .faults = 20}));
}

TEST_F(UsageTest, ResultsThatAreNeverCurrentAfterwardsAreCopied) {
  call = with(operation::Intent::update);
  int tracked = 0;
  for (int i = 0; i < 20; ++i) {
    matrix().address = elements.data() + i;
    if (!this->tracked()) continue;
    ++tracked;
    heuristic.lost(call, 0);
    heuristic.used(call, 0);
  }
  EXPECT_EQ(tracked, 4);
}

}  // namespace
}  // namespace blastoff::residency::mirror
