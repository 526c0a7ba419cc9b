// What every source of memory events promises; the test plays the allocator library's part.
#include "tracking/memory_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "child.h"
#include "mapped_memory.h"
#include "platform/mapping_extents.h"
#include "tracking/interposed/memory_events.h"
#include "tracking/interposed/ring.h"
#include "tracking/uffd/event_ring.h"
#include "tracking/uffd/memory_events.h"
#include "without_userfaultfd.h"

namespace {
const char* version_of_the_allocator = BLASTOFF_VERSION;
}

extern "C" [[gnu::visibility("default")]] const char* blastoff_allocator_version() {
  return version_of_the_allocator;
}

namespace blastoff::tracking {
namespace {

/// glibc shall give every ring a mapping of its own, also once an earlier one was freed.
[[maybe_unused]] const int large_blocks_stay_mapped = mallopt(M_MMAP_THRESHOLD, 128 << 10);

using test::Memory;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = MemoryEvent::Kind;

enum class Source { kernel, interposed };

class MemoryEventsTest : public ::testing::TestWithParam<Source> {
 protected:
  void SetUp() override {
    if (GetParam() == Source::interposed) {
      auto opened = InterposedMemoryEvents::open();
      ASSERT_TRUE(opened) << opened.error();
      events_ = std::move(*opened);
      return;
    }
    auto opened = UffdMemoryEvents::open({});
    if (!opened) GTEST_SKIP() << opened.error();
    events_ = std::move(*opened);
  }

  void told(Kind kind, Span span, std::uintptr_t to = 0) const {
    if (GetParam() == Source::interposed) note_interposed_event({kind, span, to});
  }
  void unmap(Span span) const {
    told(Kind::unmapped, span);
    munmap(reinterpret_cast<void*>(span.begin), span.bytes());
  }
  void drop(Span span) const {
    madvise(reinterpret_cast<void*>(span.begin), span.bytes(), MADV_DONTNEED);
    told(Kind::dropped, span);
  }
  std::vector<MemoryEvent> drain() {
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(events_->drain(events));
    return events;
  }

  std::unique_ptr<MemoryEvents> events_;
};

TEST_P(MemoryEventsTest, TellsInOrder) {
  const Memory memory(8);
  memory.touch();
  ASSERT_TRUE(events_->watch(memory.span()));
  EXPECT_THAT(drain(), IsEmpty());
  drop(memory.pages(1, 2));
  unmap(memory.pages(5, 1));
  const auto events = drain();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::dropped);
  EXPECT_EQ(events[0].span, memory.pages(1, 2));
  EXPECT_EQ(events[1].kind, Kind::unmapped);
  EXPECT_EQ(events[1].span, memory.pages(5, 1));
  EXPECT_THAT(drain(), IsEmpty());
}

TEST_P(MemoryEventsTest, TellsWhereMemoryMovedTo) {
  const Memory memory(4), target(4);
  memory.touch();
  ASSERT_TRUE(events_->watch(memory.span()));
  told(Kind::moved, memory.span(), target.span().begin);
  ASSERT_EQ(mremap(memory.page(0), memory.span().bytes(), memory.span().bytes(), MREMAP_MAYMOVE | MREMAP_FIXED,
                   target.page(0)),
            target.page(0));
  const auto events = drain();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].kind, Kind::moved);
  EXPECT_EQ(events[0].span, memory.span());
  EXPECT_EQ(events[0].moved_to, target.span().begin);
}

/// The kernel makes one mapping again of what has moved back and of its neighbours.
TEST_P(MemoryEventsTest, WatchesTheNeighboursOfMemoryThatHasMovedBack) {
  if (GetParam() == Source::interposed) GTEST_SKIP() << "the kernel is not asked there";
  const Memory memory(12), target(4);
  memory.touch();
  ASSERT_TRUE(events_->watch(memory.span()));
  const std::size_t bytes = target.span().bytes();
  ASSERT_EQ(mremap(memory.page(4), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target.page(0)), target.page(0));
  ASSERT_EQ(mremap(target.page(0), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory.page(4)), memory.page(4));
  drain();
  for (const std::size_t neighbour : {0, 8}) {
    munmap(memory.page(neighbour), platform::page_size());
    const auto events = drain();
    ASSERT_EQ(events.size(), 1U) << neighbour;
    EXPECT_EQ(events[0].span, memory.pages(neighbour, 1));
  }
}

TEST_P(MemoryEventsTest, WatchedMemoryWorksAsEver) {
  const Memory memory(64);
  ASSERT_TRUE(events_->watch(memory.span()));
  memory.touch();
  EXPECT_EQ(memory.page(63)[0], 1);
  mprotect(memory.page(0), platform::page_size(), PROT_READ);
  EXPECT_EQ(memory.page(0)[0], 1);
  EXPECT_EQ(memory.page(9)[5], 0);
  EXPECT_THAT(drain(), IsEmpty());
}

TEST_P(MemoryEventsTest, WatchingMayBeRepeatedAndEnded) {
  const Memory memory(8);
  ASSERT_TRUE(events_->watch(memory.pages(0, 4)));
  ASSERT_TRUE(events_->watch(memory.span()));
  events_->unwatch(memory.span());
  events_->unwatch(memory.span());
  ASSERT_TRUE(events_->watch(memory.span()));
  unmap(memory.pages(2, 1));
  EXPECT_EQ(drain().size(), 1u);
}

TEST_P(MemoryEventsTest, SaysWhenEventsWereLostAndGoesOn) {
  const Memory memory(1);
  memory.touch();
  ASSERT_TRUE(events_->watch(memory.span()));
  for (int i = 0; i < 6000; ++i) drop(memory.span());
  std::vector<MemoryEvent> events;
  EXPECT_FALSE(events_->drain(events));
  EXPECT_THAT(drain(), IsEmpty());
  drop(memory.span());
  EXPECT_EQ(drain().size(), 1u);
}

TEST_P(MemoryEventsTest, WaitsUntilSomethingHappensOrIsStopped) {
  const Memory memory(1);
  memory.touch();
  ASSERT_TRUE(events_->watch(memory.span()));
  std::atomic<int> heard{0};
  std::thread housekeeper([&] {
    while (events_->wait_for_events()) {
      std::vector<MemoryEvent> events;
      events_->drain(events);
      heard += static_cast<int>(events.size());
    }
  });
  for (int i = 1; i <= 20; ++i) {
    drop(memory.span());
    while (heard < i) std::this_thread::yield();
  }
  events_->stop_waiting();
  housekeeper.join();
  EXPECT_FALSE(events_->wait_for_events());
}

/// The promise on which freed and reused addresses rest: once the call has returned, drain shows it.
TEST_P(MemoryEventsTest, NothingThatHappenedIsMissedByManyThreads) {
  constexpr int thread_count = 4, rounds = 3000;
  const Memory memory(thread_count);
  memory.touch();
  ASSERT_TRUE(events_->watch(memory.span()));
  std::mutex mutex;
  std::array<int, thread_count> seen{};
  std::atomic<int> missed{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < thread_count; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 1; round <= rounds; ++round) {
        drop(memory.pages(static_cast<std::size_t>(number), 1));
        const std::lock_guard lock(mutex);
        std::vector<MemoryEvent> events;
        if (!events_->drain(events)) ++missed;
        for (const MemoryEvent& event : events)
          ++seen[(event.span.begin - memory.span().begin) / platform::page_size()];
        if (seen[static_cast<std::size_t>(number)] != round) ++missed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed, 0);
}

INSTANTIATE_TEST_SUITE_P(, MemoryEventsTest, ::testing::Values(Source::kernel, Source::interposed),
                         [](const auto& test) { return test.param == Source::kernel ? "kernel" : "interposed"; });

/// Every userfaultfd that has a number in the program's table.
std::vector<int> userfaultfds() {
  std::vector<int> numbers;
  for (int number = 3; number < 1024; ++number) {
    char target[64] = {};
    const std::string path = "/proc/self/fd/" + std::to_string(number);
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 &&
        std::string_view(target).find("userfaultfd") != std::string_view::npos)
      numbers.push_back(number);
  }
  return numbers;
}

/// What a source does whose number is gone: nothing that it shows.
void expect_it_to_go_on(UffdMemoryEvents& events) {
  const Memory memory(8);
  memory.touch();
  EXPECT_TRUE(events.watch(memory.span()));
  madvise(memory.page(1), platform::page_size(), MADV_DONTNEED);
  std::vector<MemoryEvent> told;
  EXPECT_TRUE(events.drain(told));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].span, memory.pages(1, 1));
  events.unwatch(memory.span());
}

/// Programs that close all descriptors close ours too.
TEST(UffdMemoryEvents, GoesOnWithoutItsNumber) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  for (const int number : userfaultfds()) close(number);
  expect_it_to_go_on(**opened);
}

TEST(UffdMemoryEvents, GoesOnBesideTheProgramsOwn) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  const auto numbers = userfaultfds();
  auto other = UffdMemoryEvents::open({});
  ASSERT_TRUE(other);
  for (const int number : numbers) dup2(userfaultfds().back(), number);
  expect_it_to_go_on(**opened);
  expect_it_to_go_on(**other);
  for (const int number : numbers) close(number);
}

TEST(UffdMemoryEvents, MayBeAskedByManyAtOnce) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  for (const int number : userfaultfds()) close(number);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const Memory memory(4);
        memory.touch();
        EXPECT_TRUE((*opened)->watch(memory.span()));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

/// A program that locks all its memory locks the page by which we wake our thread.
TEST(UffdMemoryEvents, GoesOnInLockedMemory) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  if (mlockall(MCL_CURRENT) != 0) GTEST_SKIP() << "memory may not be locked here";
  for (const int number : userfaultfds()) close(number);
  const Memory memory(4);
  EXPECT_TRUE((*opened)->watch(memory.span()));
  munlockall();
}

TEST(UffdMemoryEvents, GivesMemoryAway) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  const Memory memory(8);
  memory.touch();
  ASSERT_TRUE((*opened)->watch(memory.span()));
  EXPECT_TRUE(memory_is_watched());
  EXPECT_TRUE(surrender_memory(memory.pages(2, 3)));
  std::vector<MemoryEvent> told;
  EXPECT_TRUE((*opened)->drain(told));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Kind::unmapped);
  EXPECT_EQ(told[0].span, memory.pages(2, 3));
  EXPECT_FALSE(surrender_memory(memory.pages(2, 3))) << "it may be registered with another userfaultfd by now";
}

/// munmap() must end, whatever became of the descriptors in parent and child.
TEST(UffdMemoryEvents, EndsWhileAChildHoldsACopy) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  const Memory memory(8);
  memory.touch();
  ASSERT_TRUE((*opened)->watch(memory.span()));
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  opened->reset();
  madvise(memory.page(0), platform::page_size(), MADV_DONTNEED);  // would wait for a reader
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

/// What the source itself has mapped, its ring and the bell among it, may come to be watched with the program's memory.
/// All watches must have ended before any of it is unmapped.
TEST(UffdMemoryEvents, EndsWhileItsOwnMemoryIsWatched) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::set<std::uintptr_t> before;
    platform::each_mapping_extent([&](Span span) { before.insert(span.begin); });
    auto opened = UffdMemoryEvents::open({});
    if (!opened) _exit(77);
    std::vector<Span> mapped;
    mapped.reserve(64);
    platform::each_mapping_extent([&](Span span) {
      if (!before.contains(span.begin) && mapped.size() < mapped.capacity()) mapped.push_back(span);
    });
    int watched = 0;
    for (const Span span : mapped)
      if (span.bytes() >= sizeof(EventRing) && (*opened)->watch(span)) ++watched;
    const int copy = dup(userfaultfds().back());  // as a child of fork has one: closing ours does not end the watches
    opened->reset();
    _exit(watched > 0 && copy >= 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "userfaultfd is not allowed here";
  EXPECT_EQ(status, 0);
}

TEST(UffdMemoryEvents, AChildOfForkIsRefusedAtOnce) {
  auto opened = UffdMemoryEvents::open({});
  if (!opened) GTEST_SKIP() << opened.error();
  const Memory memory(4);
  memory.touch();
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    const bool refused = !(*opened)->watch(memory.span()) && !surrender_memory(memory.span());
    for (const int number : userfaultfds()) close(number);
    _exit(refused && !(*opened)->watch(memory.span()) ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
}

/// Where a table of one's own is forbidden the reader notices that its number is gone, and touches no other file.
TEST(UffdMemoryEvents, LosesEverythingWithoutATableOfItsOwn) {
  test::without(SYS_close_range, [] {
    auto opened = UffdMemoryEvents::open({});
    if (!opened) return;
    const Memory memory(1);
    memory.touch();
    ASSERT_TRUE((*opened)->watch(memory.span()));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], "mine", 4), 4);
    for (const int number : userfaultfds()) dup2(ends[0], number);
    madvise(memory.page(0), platform::page_size(), MADV_DONTNEED);  // wakes the reader
    std::vector<MemoryEvent> events;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((*opened)->drain(events) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_FALSE((*opened)->drain(events));
    EXPECT_FALSE((*opened)->watch(memory.span()));
    char data[8];
    EXPECT_EQ(read(ends[0], data, sizeof data), 4);
  });
}

TEST(InterposedMemoryEvents, RoundsOutwardAndKeepsErrno) {
  auto events = InterposedMemoryEvents::open();
  ASSERT_TRUE(events);
  const Memory memory(4);
  ASSERT_TRUE((*events)->watch(memory.span()));
  errno = 77;
  note_interposed_event({Kind::unmapped, {memory.span().begin + 100, memory.span().begin + platform::page_size() + 1}});
  EXPECT_EQ(errno, 77);
  note_interposed_event({Kind::unmapped, {}});
  std::vector<MemoryEvent> heard;
  ASSERT_TRUE((*events)->drain(heard));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].span, memory.pages(0, 2));
}

TEST(InterposedMemoryEvents, MemoryThatMovesOverWatchedMemoryEndsIt) {
  auto events = InterposedMemoryEvents::open();
  ASSERT_TRUE(events);
  const std::size_t far_away = std::size_t{16} << 20;
  const Memory memory(2 * far_away / platform::page_size());
  const Span watched = memory.pages(far_away / platform::page_size(), 2);
  ASSERT_TRUE((*events)->watch(watched));
  note_interposed_event({Kind::moved, memory.pages(0, 2), watched.begin});  // the old place was nobody's business
  std::vector<MemoryEvent> heard;
  ASSERT_TRUE((*events)->drain(heard));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].kind, Kind::unmapped);
  EXPECT_EQ(heard[0].span, watched);
}

TEST(InterposedMemoryEvents, EachListenerHearsOfItsOwnMemoryAndNoneOfThePast) {
  const Memory memory(4);
  for (int round = 0; round < 10; ++round) {
    auto one = InterposedMemoryEvents::open();
    auto other = InterposedMemoryEvents::open();
    ASSERT_TRUE(one);
    ASSERT_TRUE(other);
    std::vector<MemoryEvent> heard;
    ASSERT_TRUE((*one)->drain(heard));
    ASSERT_TRUE((*one)->watch(memory.span()));
    note_interposed_event({Kind::dropped, memory.span()});
    EXPECT_TRUE((*other)->drain(heard));
    EXPECT_THAT(heard, IsEmpty());
    if (round % 2 == 0) continue;
    EXPECT_TRUE((*one)->drain(heard));
    EXPECT_EQ(heard.size(), 1u);
  }
}

TEST(InterposedMemoryEvents, AHandfulOfListenersIsTheMost) {
  std::vector<std::unique_ptr<InterposedMemoryEvents>> listeners;
  for (int i = 0; i < 4; ++i) {
    auto opened = InterposedMemoryEvents::open();
    ASSERT_TRUE(opened);
    listeners.push_back(std::move(*opened));
  }
  EXPECT_FALSE(InterposedMemoryEvents::open());
  listeners.pop_back();
  EXPECT_TRUE(InterposedMemoryEvents::open());
}

TEST(InterposedRing, ManyProducersEachInOrder) {
  static InterposedRing ring;
  constexpr std::size_t producers = 4, count = 20000;
  std::atomic<std::size_t> running{producers};
  std::vector<std::thread> threads;
  for (std::size_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&, producer] {
      for (std::size_t i = 1; i <= count; ++i) {
        if (i % 512 == 0) {
          while (ring.waiting()) std::this_thread::yield();  // leaves room
        }
        ring.put({Kind::unmapped, {i, i + 1}, producer});
      }
      --running;
    });
  }
  std::array<std::size_t, producers> last{};
  std::vector<MemoryEvent> events;
  bool complete = true;
  while (running > 0 || ring.waiting()) {
    events.clear();
    complete = ring.take(events) && complete;
    for (const MemoryEvent& event : events) {
      EXPECT_EQ(event.span.begin, last[event.moved_to] + 1);
      last[event.moved_to] = event.span.begin;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(complete);
  for (const std::size_t number : last) EXPECT_EQ(number, count);
}

TEST(MemoryEvents, InterposedCallsWhereUserfaultfdIsForbidden) {
  test::without_userfaultfd([] {
    const auto of_kernel = kernel_tells_of_memory();
    ASSERT_FALSE(of_kernel);
    EXPECT_THAT(of_kernel.error(), HasSubstr("userfaultfd"));
    const auto events = open_memory_events();
    ASSERT_TRUE(events) << events.error();
    EXPECT_STREQ((*events)->name(), "interposed calls");
    EXPECT_FALSE((*events)->complete());
  });
}

TEST(MemoryEvents, NoneOfAnAllocatorLibraryOfAnotherVersion) {
  version_of_the_allocator = "0.0.9";
  const auto events = InterposedMemoryEvents::open();
  version_of_the_allocator = BLASTOFF_VERSION;
  ASSERT_FALSE(events);
  EXPECT_THAT(events.error(), HasSubstr("of version 0.0.9 instead of " BLASTOFF_VERSION));
}

TEST(MemoryEvents, TheKernelsWhereItTells) {
  const auto events = open_memory_events();
  ASSERT_TRUE(events) << events.error();
  EXPECT_EQ((*events)->complete(), kernel_tells_of_memory().has_value());
  EXPECT_STREQ((*events)->name(), (*events)->complete() ? "userfaultfd" : "interposed calls");
}

}  // namespace
}  // namespace blastoff::tracking
