// What is special to tracking by soft-dirty bits: one clear for all, and events that may be missing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "mapped_memory.h"
#include "tracking/interposed/memory_events.h"
#include "tracking/page_tracker.h"
#include "without_userfaultfd.h"

namespace blastoff::tracking {
namespace {

using test::Memory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Span> scan(PageTracker& tracker, Span span, bool protect = false) {
  std::vector<Span> runs;
  EXPECT_EQ(tracker.scan(span, protect, runs), PageTracker::Scan::ok);
  return runs;
}

class SoftDirtyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_page_tracker(TrackerKind::soft_dirty);
    if (!opened) GTEST_SKIP() << opened.error();
    tracker_ = std::move(*opened);
    test::let_threads_settle();
  }
  void begin(Span span) {
    ASSERT_TRUE(tracker_->track(span));
    scan(*tracker_, span, true);
    ASSERT_THAT(scan(*tracker_, span), IsEmpty());
  }

  std::unique_ptr<PageTracker> tracker_;
};

TEST_F(SoftDirtyTest, AClearForOneRegionLosesNoWriteOfAnother) {
  const Memory one(8), other(1000), third(4);
  for (const Memory* memory : {&one, &other, &third}) {
    madvise(memory->page(0), memory->span().bytes(), MADV_NOHUGEPAGE);
    memory->touch();
  }
  begin(one.span());
  begin(other.span());
  begin(third.span());
  for (std::size_t round = 0; round < 10; ++round) {
    *other.page(3 + round) = 1;
    *other.page(700) = 1;
    *one.page(round % 8) = 1;
    EXPECT_THAT(scan(*tracker_, one.span(), true), ElementsAre(one.pages(round % 8, 1)));
    *other.page(900) = 1;
    *one.page(0) = 1;
    EXPECT_THAT(scan(*tracker_, one.span(), true), ElementsAre(one.pages(0, 1)));
    EXPECT_THAT(scan(*tracker_, third.span(), true), IsEmpty());
    EXPECT_THAT(scan(*tracker_, other.span(), true),
                ElementsAre(other.pages(3 + round, 1), other.pages(700, 1), other.pages(900, 1)));
    EXPECT_THAT(scan(*tracker_, other.span()), IsEmpty());
  }
}

TEST_F(SoftDirtyTest, SomebodyElsesClearIsNoticed) {
  const Memory memory(16), other(4);
  memory.touch();
  other.touch();
  begin(memory.span());
  begin(other.span());
  *memory.page(5) = 1;
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(write(file, "4", 1), 1);
  close(file);
  EXPECT_THAT(scan(*tracker_, memory.span(), true), ElementsAre(memory.span()));
  EXPECT_THAT(scan(*tracker_, other.span()), ElementsAre(other.span()));
  EXPECT_THAT(scan(*tracker_, memory.span()), IsEmpty());
  *memory.page(6) = 1;
  EXPECT_THAT(scan(*tracker_, memory.span(), true), ElementsAre(memory.pages(6, 1)));
}

/// A writer that leaves pauses, so that clears get through between its page faults. Two regions, each scanned while the
/// other's clears go on.
TEST_F(SoftDirtyTest, NoWriteBesideAClearIsEverMissed) {
  constexpr std::size_t pages = 40;
  const std::array<Memory, 2> regions{Memory(pages), Memory(pages)};
  for (const Memory& region : regions) {
    region.touch();
    begin(region.span());
  }
  const auto word = [&](std::size_t region, std::size_t page) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(regions[region].page(page)));
  };
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937 engine(1);
    for (std::uint64_t value = 1; !stop; ++value) {
      word(engine() % 2, engine() % pages) = value;
      if (engine() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(engine() % 300));
    }
  });
  std::array<std::array<std::uint64_t, pages>, 2> mirror{};
  std::size_t reported = 0, scans = 0;
  const auto update = [&](std::size_t region) {
    const Span span = regions[region].span();
    ++scans;
    for (const Span run : scan(*tracker_, span, true)) {
      reported += run.bytes() / platform::page_size();
      for (auto at = run.begin; at < run.end; at += platform::page_size()) {
        const std::size_t page = (at - span.begin) / platform::page_size();
        mirror[region][page] = word(region, page);
      }
    }
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < deadline) {
    for (const std::size_t region : {0, 0, 1}) update(region);
  }
  stop = true;
  writer.join();
  for (const std::size_t region : {0, 1}) {
    update(region);
    for (std::size_t page = 0; page < pages; ++page)
      EXPECT_EQ(mirror[region][page], word(region, page)) << region << ' ' << page;
    EXPECT_THAT(scan(*tracker_, regions[region].span()), IsEmpty());
  }
  RecordProperty("reported_per_scan", std::to_string(static_cast<double>(reported) / static_cast<double>(scans)));
}

TEST_F(SoftDirtyTest, NothingIsClearedWhereNothingWasWritten) {
  const Memory tracked(8), bystander(1);
  tracked.touch();
  bystander.touch();
  begin(tracked.span());
  begin(bystander.span());
  *bystander.page(0) = 1;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(scan(*tracker_, tracked.span(), true), IsEmpty());
  const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  std::uint64_t entry = 0;
  ASSERT_EQ(
      pread(pagemap, &entry, sizeof entry, static_cast<off_t>(bystander.span().begin / platform::page_size() * 8)), 8);
  close(pagemap);
  EXPECT_TRUE((entry >> 55 & 1) != 0);
}

TEST_F(SoftDirtyTest, APageThatIsPendingNeedsNoSecondClear) {
  const Memory one(4), other(4), bystander(1);
  for (const Memory* memory : {&one, &other, &bystander}) memory->touch();
  begin(one.span());
  begin(other.span());
  *one.page(1) = 1;
  *other.page(2) = 1;
  EXPECT_THAT(scan(*tracker_, one.span(), true), ElementsAre(one.pages(1, 1)));  // clears
  EXPECT_THAT(scan(*tracker_, other.span(), true), ElementsAre(other.pages(2, 1)));
  *other.page(2) = 1;
  EXPECT_THAT(scan(*tracker_, other.span()), ElementsAre(other.pages(2, 1)));
}

TEST_F(SoftDirtyTest, ForeignMappingsAreNotTracked) {
  const Memory memory(4);
  memory.touch();
  begin(memory.span());
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_NE(mmap(memory.page(1), platform::page_size(), PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), MAP_FAILED);
  close(file);
  EXPECT_EQ(static_cast<volatile char*>(memory.page(1))[0], 0x7f);
  std::vector<Span> runs;
  EXPECT_EQ(tracker_->scan(memory.span(), false, runs), PageTracker::Scan::not_tracked);  // before its event is drained
}

/// The allocator library's part is played by the tests (memory_events_test.cpp defines its symbol).
TEST_F(SoftDirtyTest, WorksOnInterposedEventsWhereUserfaultfdIsForbidden) {
  test::without_userfaultfd([] {
    auto opened = open_page_tracker(TrackerKind::best);
    ASSERT_TRUE(opened) << opened.error();
    PageTracker& tracker = **opened;
    EXPECT_STREQ(tracker.name(), "soft-dirty");
    EXPECT_FALSE(tracker.allows_pinning());
    const Memory memory(8);
    memory.touch();
    ASSERT_TRUE(tracker.track(memory.span()));
    scan(tracker, memory.span(), true);
    EXPECT_THAT(scan(tracker, memory.span()), IsEmpty());
    *memory.page(3) = 1;
    EXPECT_THAT(scan(tracker, memory.span(), true), ElementsAre(memory.pages(3, 1)));

    // Dropped or replaced without a word: zeros that were only read do not pass for what was there.
    madvise(memory.page(1), platform::page_size(), MADV_DONTNEED);
    EXPECT_EQ(static_cast<volatile char*>(memory.page(1))[0], 0);
    EXPECT_THAT(scan(tracker, memory.span()), ElementsAre(memory.pages(1, 1)));
    mmap(memory.page(5), platform::page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    // The new mapping may be one with its neighbours, which then are as new to the kernel.
    const auto runs = scan(tracker, memory.span());
    EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [&](Span run) { return run.contains(memory.pages(5, 1)); }));

    note_interposed_event({MemoryEvent::Kind::unmapped, memory.pages(6, 1)});
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(tracker.events().drain(events));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].span, memory.pages(6, 1));
    std::vector<Span> none;
    EXPECT_EQ(tracker.scan(memory.span(), false, none), PageTracker::Scan::not_tracked);
  });
}

TEST(PageTrackers, TheBestOfNoneSaysWhyOfEach) {
  if (open_page_tracker(TrackerKind::soft_dirty)) GTEST_SKIP() << "this kernel has soft-dirty bits";
  test::without_userfaultfd([] {
    const auto opened = open_page_tracker(TrackerKind::best);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error(), HasSubstr("userfaultfd"));
    EXPECT_THAT(opened.error(), HasSubstr("soft-dirty"));
    EXPECT_THAT(opened.error(), ::testing::Not(HasSubstr("\n")));
  });
}

}  // namespace
}  // namespace blastoff::tracking
