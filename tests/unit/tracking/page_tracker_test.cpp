#include "tracking/page_tracker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "child.h"
#include "mapped_memory.h"
#include "span_printing.h"

namespace blastoff::tracking {

namespace {

using test::Memory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Tracked : std::uint8_t { by_uffd, by_soft_dirty };

/// What every tracker promises.
class PageTrackerTest : public ::testing::TestWithParam<Tracked> {
 protected:
  void SetUp() override {
    const bool soft_dirty = GetParam() == Tracked::by_soft_dirty;
    auto opened = open_page_tracker(soft_dirty ? TrackerKind::soft_dirty : TrackerKind::uffd);
    if (!opened) GTEST_SKIP() << opened.error();
    tracker_ = std::move(*opened);
    if (soft_dirty) test::let_threads_settle();
  }

  /// Tracks touched memory and protects all of it.
  void begin(Span span) {
    ASSERT_TRUE(tracker_->track(span));
    std::vector<Span> written;
    ASSERT_EQ(tracker_->scan(span, true, written), PageTracker::Scan::ok);
    ASSERT_THAT(written, ElementsAre(span));
  }

  std::vector<Span> written(Span span, bool protect = false) {
    std::vector<Span> runs;
    EXPECT_EQ(tracker_->scan(span, protect, runs), PageTracker::Scan::ok);
    return runs;
  }

  bool tracked(Span span, bool protect = false) {
    std::vector<Span> runs;
    const bool ok = tracker_->scan(span, protect, runs) == PageTracker::Scan::ok;
    EXPECT_TRUE(ok || runs.empty());
    return ok;
  }

  std::vector<MemoryEvent> drain() {
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(tracker_->events().drain(events));
    return events;
  }

  std::unique_ptr<PageTracker> tracker_;
};

TEST_P(PageTrackerTest, ReportsWrittenPagesAsAscendingRuns) {
  const Memory memory(16);
  memory.touch();
  begin(memory.span());
  EXPECT_THAT(written(memory.span()), IsEmpty());
  *memory.page(2) = 1;
  *memory.page(3) = 1;
  *memory.page(9) = 1;
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(2, 2), memory.pages(9, 1)));
  EXPECT_THAT(written(memory.pages(3, 4)), ElementsAre(memory.pages(3, 1)));
  EXPECT_THAT(written(memory.span(), true), ElementsAre(memory.pages(2, 2), memory.pages(9, 1)));
  EXPECT_THAT(written(memory.span()), IsEmpty());
}

// Initialised data, and the .bss that begins in its last page: a program's first static arrays.
constexpr std::size_t array_bytes = 64 * 4096;
alignas(4096) char initialised[array_bytes] = {1};
char zeroed[array_bytes];

TEST_P(PageTrackerTest, SeesWritesToStaticData) {
  if (!tracker_->tracks(platform::MemoryKind::object_data)) GTEST_SKIP() << "static data cannot be tracked in this way";
  const std::size_t page = platform::page_size();
  for (char* const array : {initialised, zeroed}) {
    const auto begin = reinterpret_cast<std::uintptr_t>(array) / page * page;
    const Span whole{begin, begin + array_bytes};
    ASSERT_TRUE(tracker_->track(whole));
    written(whole, true);
    EXPECT_THAT(written(whole), IsEmpty());
    const volatile char read_only = array[20 * page];  // no page of the program's own yet
    (void)read_only;
    EXPECT_THAT(written(whole), IsEmpty());
    const auto page_of = [&](std::size_t at) {
      const auto found = reinterpret_cast<std::uintptr_t>(array + at) / page * page;
      return Span{found, found + page};
    };
    array[20 * page] = 2;
    array[40 * page] = 2;  // a page that was never read
    EXPECT_THAT(written(whole, true), ElementsAre(page_of(20 * page), page_of(40 * page)));
    EXPECT_THAT(written(whole), IsEmpty());
    // The first page may hold other variables.
    ASSERT_EQ(madvise(reinterpret_cast<void*>(begin + page), array_bytes - page, MADV_DONTNEED), 0);
    EXPECT_THAT(drain(), ::testing::Contains(::testing::Field(&MemoryEvent::kind, MemoryEvent::Kind::dropped)));
    tracker_->untrack(whole);
  }
}

TEST_P(PageTrackerTest, AppendsToWhatIsThere) {
  const Memory memory(2);
  memory.touch();
  ASSERT_TRUE(tracker_->track(memory.span()));
  std::vector<Span> runs = {{memory.span().begin - platform::page_size(), memory.span().begin}};
  ASSERT_EQ(tracker_->scan(memory.span(), true, runs), PageTracker::Scan::ok);
  EXPECT_EQ(runs.size(), 2u);  // what was there is not joined to
}

TEST_P(PageTrackerTest, ReportsMoreRunsThanOneQuestionReturns) {
  const Memory memory(4000);
  madvise(memory.page(0), memory.span().bytes(), MADV_NOHUGEPAGE);
  memory.touch();
  begin(memory.span());
  for (std::size_t i = 0; i < 4000; i += 2) *memory.page(i) = 1;
  const auto runs = written(memory.span(), true);
  ASSERT_EQ(runs.size(), 2000u);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i], memory.pages(2 * i, 1));
  EXPECT_THAT(written(memory.span()), IsEmpty());
}

TEST_P(PageTrackerTest, JoinsRunsAcrossQuestions) {
  const Memory memory(4000);
  memory.touch();
  // Neighbours in different mappings come back as different regions.
  ASSERT_TRUE(tracker_->track(memory.pages(0, 1000)));
  ASSERT_EQ(mprotect(memory.page(500), platform::page_size(), PROT_READ), 0);
  EXPECT_THAT(written(memory.pages(0, 1000), true), ElementsAre(memory.pages(0, 1000)));
}

TEST_P(PageTrackerTest, SeesWritesByTheKernel) {
  const Memory memory(4);
  memory.touch();
  begin(memory.span());
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(read(zero, memory.page(1) + 10, 100), 100);
  close(zero);
  EXPECT_THAT(written(memory.span(), true), ElementsAre(memory.pages(1, 1)));

  char source = 7;
  const iovec local = {&source, 1};
  const iovec remote = {memory.page(2), 1};
  if (process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == 1) {
    EXPECT_THAT(written(memory.span(), true), ElementsAre(memory.pages(2, 1)));
  }
  const int self = open("/proc/self/mem", O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(pwrite(self, &source, 1, static_cast<off_t>(memory.pages(3, 1).begin)), 1);
  close(self);
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(3, 1)));
}

TEST_P(PageTrackerTest, ReadingIsNotWriting) {
  const Memory memory(4);
  memory.touch();
  begin(memory.span());
  EXPECT_EQ(static_cast<volatile char*>(memory.page(1))[0], 1);
  EXPECT_THAT(written(memory.span()), IsEmpty());
}

TEST_P(PageTrackerTest, TrackingTwiceKeepsProtection) {
  const Memory memory(8);
  memory.touch();
  begin(memory.pages(0, 4));
  *memory.page(1) = 1;
  ASSERT_TRUE(tracker_->track(memory.span()));
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(1, 1), memory.pages(4, 4)));
}

TEST_P(PageTrackerTest, UntrackedMemoryIsNotTracked) {
  const Memory memory(8);
  memory.touch();
  EXPECT_FALSE(tracked(memory.span()));
  EXPECT_FALSE(tracked(memory.span(), true));
  begin(memory.pages(0, 4));
  EXPECT_TRUE(tracked(memory.pages(0, 4)));
  EXPECT_FALSE(tracked(memory.span()));
  EXPECT_FALSE(tracked(memory.span(), true));
  tracker_->untrack(memory.pages(0, 2));
  EXPECT_FALSE(tracked(memory.pages(0, 4)));
  EXPECT_TRUE(tracked(memory.pages(2, 2)));
  tracker_->untrack(memory.span());
  EXPECT_FALSE(tracked(memory.pages(2, 2)));
}

TEST_P(PageTrackerTest, TrackingBeginsWithAllPagesWritten) {
  const Memory memory(4);
  memory.touch();
  begin(memory.span());
  tracker_->untrack(memory.span());
  begin(memory.span());
}

TEST_P(PageTrackerTest, UntrackAroundForeignMappings) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_NE(mmap(memory.page(2), platform::page_size(), PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), MAP_FAILED);
  ASSERT_EQ(munmap(memory.page(5), platform::page_size()), 0);
  close(file);
  tracker_->untrack(memory.span());
  EXPECT_FALSE(tracked(memory.pages(0, 2)));
  EXPECT_FALSE(tracked(memory.pages(3, 2)));
  EXPECT_FALSE(tracked(memory.pages(6, 2)));
}

TEST_P(PageTrackerTest, CannotTrackNothing) {
  const Memory memory(4);
  ASSERT_EQ(munmap(memory.page(1), 2 * platform::page_size()), 0);
  const auto result = tracker_->track(memory.pages(1, 2));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error(), "");
}

TEST_P(PageTrackerTest, UnprotectedPagesAreWritten) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  tracker_->unprotect(memory.pages(2, 3));
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(2, 3)));
}

TEST_P(PageTrackerTest, FirstWritesToFreshMemoryAreSeen) {
  const Memory memory(4096);  // 16 MiB never touched: no page tables
  ASSERT_TRUE(tracker_->track(memory.span()));
  written(memory.span(), true);
  *memory.page(1000) = 1;
  const auto runs = written(memory.span(), true);
  EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [&](Span run) { return run.contains(memory.pages(1000, 1)); }));
  *memory.page(1000) = 2;
  *memory.page(3000) = 2;
  const auto later = written(memory.span());
  for (const std::size_t page : {1000, 3000}) {
    EXPECT_TRUE(std::any_of(later.begin(), later.end(), [&](Span run) { return run.contains(memory.pages(page, 1)); }));
  }
}

TEST_P(PageTrackerTest, MprotectKeepsWhatIsKnown) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  *memory.page(3) = 1;
  ASSERT_EQ(mprotect(memory.page(0), 8 * platform::page_size(), PROT_NONE), 0);
  ASSERT_EQ(mprotect(memory.page(0), 8 * platform::page_size(), PROT_READ | PROT_WRITE), 0);
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(3, 1)));
  *memory.page(6) = 1;
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(3, 1), memory.pages(6, 1)));
}

TEST_P(PageTrackerTest, UnmappingIsAnEventAndEndsTracking) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  EXPECT_THAT(drain(), IsEmpty());
  ASSERT_EQ(munmap(memory.page(2), 2 * platform::page_size()), 0);
  const auto events = drain();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, MemoryEvent::Kind::unmapped);
  EXPECT_EQ(events[0].span, memory.pages(2, 2));
  EXPECT_FALSE(tracked(memory.span()));
  EXPECT_FALSE(tracked(memory.span(), true));
  EXPECT_FALSE(tracked(memory.pages(3, 1)));
  EXPECT_TRUE(tracked(memory.pages(4, 4)));
}

TEST_P(PageTrackerTest, MappingOverIsAnEventAndEndsTracking) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  ASSERT_NE(mmap(memory.page(1), platform::page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0),
            MAP_FAILED);
  const auto events = drain();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, MemoryEvent::Kind::unmapped);
  EXPECT_TRUE(events[0].span.contains(memory.pages(1, 1)));
  EXPECT_FALSE(tracked(memory.span()));
  EXPECT_FALSE(tracked(memory.span(), true));
}

TEST_P(PageTrackerTest, MovingIsAnEventAndTheNewPlaceIsNotTracked) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  Memory target(16);
  void* moved = mremap(memory.page(0), 4 * platform::page_size(), 8 * platform::page_size(),
                       MREMAP_MAYMOVE | MREMAP_FIXED, target.page(2));
  ASSERT_EQ(moved, target.page(2));
  const auto events = drain();
  const auto event = std::find_if(events.begin(), events.end(),
                                  [](const MemoryEvent& e) { return e.kind == MemoryEvent::Kind::moved; });
  ASSERT_NE(event, events.end());
  EXPECT_EQ(event->span, memory.pages(0, 4));
  EXPECT_EQ(event->moved_to, target.pages(2, 1).begin);
  EXPECT_FALSE(tracked(memory.span()));
  EXPECT_FALSE(tracked(target.pages(2, 4)));
}

TEST_P(PageTrackerTest, DroppingIsAnEvent) {
  for (const int advice : {MADV_DONTNEED, MADV_FREE}) {
    const Memory memory(8);
    memory.touch();
    begin(memory.span());
    drain();
    ASSERT_EQ(madvise(memory.page(1), 3 * platform::page_size(), advice), 0);
    const auto events = drain();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, MemoryEvent::Kind::dropped);
    EXPECT_EQ(events[0].span, memory.pages(1, 3));
    EXPECT_TRUE(tracked(memory.span()));
    if (advice == MADV_DONTNEED) {
      EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(1, 3)));
    }
  }
}

TEST_P(PageTrackerTest, AShrinkingHeapIsAnEvent) {
  const std::size_t bytes = 64 * platform::page_size();
  auto* heap = static_cast<char*>(sbrk(static_cast<std::intptr_t>(bytes)));
  ASSERT_NE(heap, reinterpret_cast<char*>(-1));
  std::memset(heap, 1, bytes);
  const auto begin_address = reinterpret_cast<std::uintptr_t>(heap);
  const Span span = platform::inward_to_pages({begin_address, begin_address + bytes});
  ASSERT_TRUE(tracker_->track(span));
  if (sbrk(0) != heap + bytes) GTEST_SKIP() << "someone else grew the heap";
  sbrk(-static_cast<std::intptr_t>(bytes));
  const auto events = drain();
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(events.back().span.overlaps(span));
  EXPECT_FALSE(tracked(span));
}

TEST_P(PageTrackerTest, AfterForkBothGoOn) {
  const Memory memory(8);
  memory.touch();
  begin(memory.span());
  *memory.page(1) = 1;
  const pid_t child = fork();
  if (child == 0) {
    *memory.page(4) = 1;
    munmap(memory.page(6), platform::page_size());  // would hang if it waited for the parent's reader
    _exit(*memory.page(1) == 1 ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(1, 1)));
  *memory.page(5) = 1;
  EXPECT_THAT(written(memory.span()), ElementsAre(memory.pages(1, 1), memory.pages(5, 1)));
  EXPECT_THAT(drain(), IsEmpty());
}

TEST_P(PageTrackerTest, AChildOfForkCanDestroyItsCopy) {
  const pid_t child = fork();
  if (child == 0) {
    tracker_.reset();
    _exit(0);
  }
  EXPECT_EQ(test::status_of(child), 0);
  const Memory memory(2);
  memory.touch();
  begin(memory.span());
}

TEST_P(PageTrackerTest, WaitsForEvents) {
  const Memory memory(2);
  memory.touch();
  begin(memory.span());
  std::atomic<int> answers{0};
  std::thread housekeeper([&] {
    std::vector<MemoryEvent> events;
    while (tracker_->events().wait_for_events()) {
      tracker_->events().drain(events);
      answers = static_cast<int>(events.size());
    }
  });
  munmap(memory.page(0), platform::page_size());
  while (answers == 0) std::this_thread::yield();
  tracker_->events().stop_waiting();
  housekeeper.join();
  EXPECT_EQ(answers, 1);
}

TEST_P(PageTrackerTest, SaysWhenEventsWereLost) {
  const Memory memory(2);
  memory.touch();
  begin(memory.span());
  for (int i = 0; i < 6000; ++i) ASSERT_EQ(madvise(memory.page(0), platform::page_size(), MADV_DONTNEED), 0);
  std::vector<MemoryEvent> events;
  EXPECT_FALSE(tracker_->events().drain(events));
  EXPECT_THAT(drain(), IsEmpty());  // and goes on
  madvise(memory.page(0), platform::page_size(), MADV_DONTNEED);
  EXPECT_EQ(drain().size(), 1u);
}

/// The promise on which freed and reused addresses rest: once munmap has returned, drain shows it.
TEST_P(PageTrackerTest, NoUnmappingIsEverMissed) {
  constexpr int rounds = 25000;
  constexpr int thread_count = 4;
  // Events go to whichever thread drains: each notes its own unmapping as everybody's.
  const auto base = reinterpret_cast<std::uintptr_t>(
      mmap(nullptr, thread_count * platform::page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::mutex mutex;
  std::array<int, thread_count> seen{};
  std::atomic<int> missed{0};
  const auto cycle = [&](int number) {
    const std::uintptr_t address = base + static_cast<std::size_t>(number) * platform::page_size();
    const Span page = {address, address + platform::page_size()};
    for (int round = 1; round <= rounds; ++round) {
      auto* memory =
          static_cast<volatile char*>(mmap(reinterpret_cast<void*>(address), platform::page_size(),
                                           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
      *memory = 1;
      if (!tracker_->track(page)) ++missed;
      // Mapped over while tracked: an unmapping.
      mmap(reinterpret_cast<void*>(address), platform::page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
           -1, 0);
      const std::lock_guard lock(mutex);
      std::vector<MemoryEvent> events;
      if (!tracker_->events().drain(events)) ++missed;
      for (const MemoryEvent& event : events) ++seen[(event.span.begin - base) / platform::page_size()];
      if (seen[static_cast<std::size_t>(number)] != round) ++missed;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) threads.emplace_back(cycle, i);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(missed, 0);
  munmap(reinterpret_cast<void*>(base), thread_count * platform::page_size());
}

/// Protect first, look second: what a concurrent writer stores is either there when its page is looked at, or the page
/// is reported by a later scan.
TEST_P(PageTrackerTest, NoConcurrentWriteIsEverMissed) {
  constexpr std::size_t pages = 64;
  const Memory memory(pages);
  memory.touch();
  ASSERT_TRUE(tracker_->track(memory.span()));
  const auto word = [&](std::size_t page) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.page(page)));
  };
  std::atomic<bool> stop{false};
  const auto writer = [&](std::size_t first) {
    for (std::uint64_t value = 1; !stop; ++value) {
      for (std::size_t page = first; page < pages; page += 2) word(page) = value;
    }
  };
  std::thread one(writer, 0);
  std::thread other(writer, 1);

  std::array<std::uint64_t, pages> mirror{};
  const auto update = [&] {
    for (const Span run : written(memory.span(), true)) {
      for (auto at = run.begin; at < run.end; at += platform::page_size()) {
        const std::size_t page = (at - memory.span().begin) / platform::page_size();
        mirror[page] = word(page);
      }
    }
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < deadline) update();
  stop = true;
  one.join();
  other.join();
  update();
  for (std::size_t page = 0; page < pages; ++page) EXPECT_EQ(mirror[page], word(page)) << page;
  EXPECT_THAT(written(memory.span()), IsEmpty());
}

TEST_P(PageTrackerTest, WritesToHugePagesAreSeen) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const Memory memory(4 * huge / platform::page_size());
  const std::size_t first = (huge - memory.span().begin % huge) / platform::page_size();
  ASSERT_EQ(madvise(memory.page(0), memory.span().bytes(), MADV_HUGEPAGE), 0);
  memory.touch();
  begin(memory.span());
  *memory.page(first + 5) = 1;
  const auto runs = written(memory.span(), true);
  if (GetParam() != Tracked::by_soft_dirty) {
    EXPECT_THAT(runs, ElementsAre(memory.pages(first + 5, 1)));
  } else {
    ASSERT_EQ(runs.size(), 1u);  // the whole huge page, where there is one
    EXPECT_TRUE(runs[0].contains(memory.pages(first + 5, 1)));
    EXPECT_TRUE(memory.pages(first, 512).contains(runs[0]));
  }
  EXPECT_THAT(written(memory.span()), IsEmpty());
}

double milliseconds_of(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// BLASTOFF_TEST_TRACKED_MIB asks for more memory than CI has.
TEST_P(PageTrackerTest, PrintsItsCost) {
  const char* asked_for = std::getenv("BLASTOFF_TEST_TRACKED_MIB");
  const std::size_t mebibytes = asked_for == nullptr ? 256 : std::strtoul(asked_for, nullptr, 10);
  for (const bool huge : {false, true}) {
    const Memory memory((mebibytes << 20) / platform::page_size());
    madvise(memory.page(0), memory.span().bytes(), huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memory.touch();
    begin(memory.span());
    std::vector<Span> runs;
    const double clean = milliseconds_of([&] { tracker_->scan(memory.span(), true, runs); });
    EXPECT_THAT(runs, IsEmpty());
    for (std::size_t i = 0; i < 1000; ++i) *memory.page(i * 7) = 1;
    const double protecting = milliseconds_of([&] { tracker_->scan(memory.span(), true, runs); });
    const double writing = milliseconds_of([&] { memory.touch(); });
    const double plain = milliseconds_of([&] { memory.touch(); });
    std::printf(
        "%zu MiB, %s pages: scan %.3f ms, with protecting after 1000 writes %.3f ms, first writes %.1f ms more\n",
        mebibytes, huge ? "huge" : "base", clean, protecting, writing - plain);
  }
}

INSTANTIATE_TEST_SUITE_P(, PageTrackerTest, ::testing::Values(Tracked::by_uffd, Tracked::by_soft_dirty),
                         [](const auto& test) { return test.param == Tracked::by_uffd ? "uffd" : "soft_dirty"; });

}  // namespace
}  // namespace blastoff::tracking
