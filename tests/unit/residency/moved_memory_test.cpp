// What is remembered of memory that was moved. The node is this machine's own: pages are there already, and asking
// again shows in the totals.
#include "residency/in_place/moved_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "platform/numa.h"
#include "platform/span.h"
#include "platform/worker_pool.h"

namespace blastoff::residency::in_place {
namespace {

using platform::page_size;
using platform::Span;
using tracking::MemoryEvent;

/// Tells what the test tells it to tell.
class Told final : public tracking::MemoryEvents {
 public:
  const char* name() const override { return "told"; }
  tl::expected<void, std::string> watch(Span) override {
    ++watches;
    return {};
  }
  void unwatch(Span) override {}
  bool drain(std::vector<MemoryEvent>& out) override {
    out.insert(out.end(), events.begin(), events.end());
    events.clear();
    return std::exchange(complete, true);
  }
  bool wait_for_events() override { return false; }
  void stop_waiting() override {}

  std::vector<MemoryEvent> events;
  bool complete = true;
  int watches = 0;
};

class MovedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto nodes = platform::numa_nodes();
    if (nodes.empty()) GTEST_SKIP() << "this kernel knows no NUMA nodes";
    node_ = nodes.front().id;
    memory_ = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    std::memset(memory_, 1, bytes);
    moved_ = std::make_unique<MovedMemory>(*pool_, &told_, node_);
  }
  void TearDown() override {
    if (memory_) munmap(memory_, bytes);
  }

  operation::Operand matrix(std::size_t offset, std::int64_t rows, std::int64_t columns, std::int64_t leading) const {
    operation::Operand operand;
    operand.address = memory_ + offset;
    operand.rows = rows;
    operand.columns = columns;
    operand.leading_dimension = leading;
    operand.element_size = sizeof(double);
    operand.intent = operation::Intent::read;
    return operand;
  }

  /// Bytes that this use asks the kernel about.
  std::uint64_t asked_by(const operation::Operand& operand) {
    const std::uint64_t before = moved_->totals().there;
    moved_->use(operand);
    return moved_->totals().there - before;
  }

  static constexpr std::size_t bytes = std::size_t{8} << 20;
  int node_ = -1;
  char* memory_ = nullptr;
  Told told_;
  std::unique_ptr<platform::WorkerPool> pool_ = platform::create_worker_pool(2);
  std::unique_ptr<MovedMemory> moved_;
};

TEST_F(MovedMemoryTest, AsksOnceAboutAMatrixAndItsParts) {
  EXPECT_EQ(asked_by(matrix(0, 512, 512, 512)), 512U * 512 * 8);
  EXPECT_EQ(asked_by(matrix(0, 512, 512, 512)), 0U);
  EXPECT_EQ(asked_by(matrix(4096, 100, 300, 512)), 0U) << "a part of it";
  EXPECT_EQ(told_.watches, 1);
}

TEST_F(MovedMemoryTest, AsksAboutColumnsAndNotAboutTheGapsBetweenThem) {
  const auto page = static_cast<std::int64_t>(page_size());
  const operation::Operand gapped = matrix(0, page / 8, 10, 8 * page / 8);
  EXPECT_EQ(asked_by(gapped), 10 * page_size());
  EXPECT_EQ(asked_by(gapped), 0U);
  EXPECT_EQ(asked_by(matrix(0, page, 1, page)), 8 * page_size()) << "the column and the gap after it";
}

TEST_F(MovedMemoryTest, ForgetsWhatWentAway) {
  const operation::Operand a = matrix(0, 512, 256, 512);
  const operation::Operand b = matrix(bytes / 2, 512, 256, 512);
  asked_by(a);
  asked_by(b);
  const auto begin = reinterpret_cast<std::uintptr_t>(a.address);
  for (const auto kind : {MemoryEvent::Kind::unmapped, MemoryEvent::Kind::moved, MemoryEvent::Kind::dropped}) {
    told_.events.push_back({kind, {begin, begin + page_size()}});
    EXPECT_EQ(asked_by(b), 0U);
    EXPECT_GT(asked_by(a), 0U);
    EXPECT_EQ(asked_by(a), 0U);
  }
}

TEST_F(MovedMemoryTest, ForgetsGappedMatricesToo) {
  const auto page = static_cast<std::int64_t>(page_size());
  const operation::Operand gapped = matrix(0, page / 8, 10, page);
  asked_by(gapped);
  const auto begin = reinterpret_cast<std::uintptr_t>(gapped.address);
  told_.events.push_back({MemoryEvent::Kind::dropped, {begin + 8 * page_size(), begin + 9 * page_size()}});
  EXPECT_EQ(asked_by(gapped), 10 * page_size());
}

TEST_F(MovedMemoryTest, BelievesNothingAfterEventsWereLost) {
  const operation::Operand a = matrix(0, 512, 256, 512);
  asked_by(a);
  told_.complete = false;
  EXPECT_GT(asked_by(a), 0U);
}

TEST_F(MovedMemoryTest, AsksAgainNowAndThenWhereNobodyTells) {
  moved_ = std::make_unique<MovedMemory>(*pool_, nullptr, node_);
  const operation::Operand a = matrix(0, 512, 256, 512);
  asked_by(a);
  int asked = 0;
  for (int use = 0; use < 640; ++use) asked += asked_by(a) > 0 ? 1 : 0;
  EXPECT_EQ(asked, 10);
}

TEST_F(MovedMemoryTest, ThreadsThatNeedTheSameMatrixMoveItOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int use = 0; use < 50; ++use) moved_->use(matrix(0, 512, 1024, 512));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(moved_->totals().there, 512U * 1024 * 8);
}

TEST_F(MovedMemoryTest, SaysWhatIsLeftAndWhy) {
  constexpr int no_such_node = 900;
  MovedMemory nowhere(*pool_, &told_, no_such_node);
  testing::internal::CaptureStderr();
  nowhere.use(matrix(0, 512, 256, 512));
  nowhere.use(matrix(bytes / 2, 512, 256, 512));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("NUMA node 900"), std::string::npos) << said;
  const Migration migration = nowhere.totals();
  EXPECT_EQ(migration.left, 2U * 512 * 256 * 8);
  ASSERT_EQ(migration.left_because.size(), 1U);
  EXPECT_EQ(migration.there + migration.moved, 0U);
}

}  // namespace
}  // namespace blastoff::residency::in_place
