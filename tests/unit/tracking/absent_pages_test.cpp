// Pages that are given up are filled when somebody touches them, also the kernel.
#include "tracking/absent_pages.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "child.h"
#include "mapped_memory.h"
#include "platform/process.h"
#include "span_printing.h"
#include "tracking/page_tracker.h"
#include "tracking/uffd/memory_events.h"

namespace blastoff::tracking {
namespace {

using test::Memory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t pages = 64;

/// Memory of which all pages hold 7, and which is tracked and protected. A thread fills what is absent by 9.
class AbsentPagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_page_tracker(TrackerKind::uffd);
    if (!opened) GTEST_SKIP() << opened.error();
    tracker_ = std::move(*opened);
    absent_ = tracker_->absent_pages();
    if (absent_ == nullptr) GTEST_SKIP() << "the kernel's own accesses would not be served";
    std::memset(memory_.page(0), 7, memory_.span().bytes());
    ASSERT_TRUE(tracker_->track(memory_.span()));
    std::vector<Span> written;
    ASSERT_EQ(tracker_->scan(memory_.span(), true, written), PageTracker::Scan::ok);
    contents_.assign(platform::page_size(), 9);
    filler_ = std::thread([this] { fill_pages(); });
  }
  void TearDown() override {
    if (!filler_.joinable()) return;
    absent_->stop_waiting();
    filler_.join();
  }

  void fill_pages() {
    std::vector<std::uintptr_t> touched;
    for (; absent_->wait(touched); touched.clear()) {
      std::vector<MemoryEvent> events;
      tracker_->events().drain(events);
      for (const MemoryEvent& event : events) dropped_ = dropped_ || event.kind == MemoryEvent::Kind::dropped;
      for (const std::uintptr_t address : touched) {
        ++filled_;
        const std::uintptr_t page = address - address % platform::page_size();
        while (absent_->fill({page, page + platform::page_size()}, contents_.data()) == AbsentPages::Filled::not_now)
          tracker_->events().drain(events);
      }
    }
  }
  void give_up(Span span) {
    bool partly = false;
    ASSERT_TRUE(absent_->give_up(span, partly));
  }
  std::vector<Span> written(Span span, bool protect = false) {
    std::vector<Span> runs;
    EXPECT_EQ(tracker_->scan(span, protect, runs), PageTracker::Scan::ok);
    return runs;
  }
  char at(std::size_t page) const { return *static_cast<volatile char*>(memory_.page(page)); }

  Memory memory_{pages};
  std::unique_ptr<PageTracker> tracker_;
  AbsentPages* absent_ = nullptr;
  std::vector<char> contents_;
  std::thread filler_;
  std::atomic<int> filled_ = 0;
  std::atomic<bool> dropped_ = false;  ///< an event has said so
};

TEST_F(AbsentPagesTest, AreFilledWhenTheyAreRead) {
  give_up(memory_.pages(8, 8));
  EXPECT_THAT(written(memory_.span()), IsEmpty());
  EXPECT_EQ(at(7), 7);
  EXPECT_EQ(at(8), 9);
  EXPECT_EQ(at(15), 9);
  EXPECT_EQ(at(16), 7);
  EXPECT_EQ(filled_, 2);
  EXPECT_THAT(written(memory_.span()), IsEmpty());
}

TEST_F(AbsentPagesTest, AreFilledBeforeTheyAreWrittenAndCountAsWritten) {
  give_up(memory_.pages(8, 8));
  memory_.page(9)[1] = 1;
  EXPECT_EQ(at(9), 9);
  EXPECT_EQ(filled_, 1);
  EXPECT_THAT(written(memory_.span(), true), ElementsAre(memory_.pages(9, 1)));
}

// mremap() with MREMAP_DONTUNMAP leaves such pages, if a call used the memory afterwards.
TEST_F(AbsentPagesTest, AreFilledByZerosAlsoIfTheyAreProtected) {
  give_up(memory_.pages(8, 2));
  EXPECT_THAT(written(memory_.pages(8, 2), true), IsEmpty());
  EXPECT_EQ(absent_->fill(memory_.pages(8, 2), nullptr), AbsentPages::Filled::yes);
  EXPECT_EQ(at(8), 0);
  EXPECT_EQ(at(9), 0);
  EXPECT_EQ(filled_, 0);
}

TEST_F(AbsentPagesTest, AreTakenWithWhatTheyHeld) {
  memory_.page(9)[1] = 1;
  give_up(memory_.pages(12, 2));
  {
    const auto taken = absent_->take(memory_.pages(8, 8), {memory_.pages(8, 8)});
    ASSERT_TRUE(taken) << taken.error();
    EXPECT_THAT(taken->written, ElementsAre(memory_.pages(9, 1)));
    EXPECT_EQ(taken->at(memory_.pages(8, 1).begin)[0], std::byte{7});
    EXPECT_EQ(taken->at(memory_.pages(9, 1).begin)[1], std::byte{1});
    EXPECT_EQ(taken->at(memory_.pages(12, 1).begin)[0], std::byte{0}) << "what was absent before";
    EXPECT_EQ(at(8), 9);
    EXPECT_EQ(at(12), 9);
    EXPECT_EQ(filled_, 2);
    memory_.page(8)[0] = 2;
    EXPECT_EQ(taken->at(memory_.pages(8, 1).begin)[0], std::byte{7});
    absent_->put_back(*taken, {memory_.pages(10, 1), memory_.pages(14, 2)});
  }
  EXPECT_EQ(at(10), 7);
  EXPECT_EQ(at(15), 7);
  EXPECT_EQ(filled_, 2);
  EXPECT_EQ(at(11), 9);
  EXPECT_FALSE(dropped_);
}

// What was taken once, and has been filled since, is a mapping of its own.
TEST_F(AbsentPagesTest, AreTakenFromSeveralMappings) {
  { ASSERT_TRUE(absent_->take(memory_.pages(16, 8), {memory_.pages(16, 8)})); }
  for (std::size_t page = 16; page < 24; ++page) memory_.page(page)[1] = 3;
  filled_ = 0;
  {
    const auto taken = absent_->take(memory_.pages(8, 24), {memory_.pages(8, 24)});
    ASSERT_TRUE(taken) << taken.error();
    EXPECT_THAT(taken->written, ElementsAre(memory_.pages(16, 8)));
    EXPECT_EQ(taken->at(memory_.pages(8, 1).begin)[1], std::byte{7});
    EXPECT_EQ(taken->at(memory_.pages(20, 1).begin)[0], std::byte{9});
    EXPECT_EQ(taken->at(memory_.pages(20, 1).begin)[1], std::byte{3});
    EXPECT_EQ(taken->at(memory_.pages(31, 1).begin)[1], std::byte{7});
    for (const std::size_t page : {8, 20, 31}) EXPECT_EQ(memory_.page(page)[1], 9);
  }
  EXPECT_EQ(filled_, 3);
  EXPECT_FALSE(dropped_);
}

// Sealed memory cannot be moved. It stays for the rest of the process.
TEST_F(AbsentPagesTest, AreAsBeforeIfNotAllCanBeTaken) {
  constexpr long number_of_mseal = 462;
  ASSERT_TRUE(absent_->take(memory_.pages(16, 8), {memory_.pages(16, 8)}));
  for (std::size_t page = 16; page < 24; ++page) memory_.page(page)[1] = 3;
  filled_ = 0;
  if (syscall(number_of_mseal, memory_.page(30), platform::page_size(), 0) != 0) GTEST_SKIP() << "no sealed memory";
  const auto taken = absent_->take(memory_.pages(8, 24), {memory_.pages(8, 24)});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error(), ::testing::HasSubstr("mremap"));
  EXPECT_EQ(at(8), 7);
  EXPECT_EQ(memory_.page(16)[1], 3);
  EXPECT_EQ(at(29), 7);
  EXPECT_EQ(filled_, 0);
}

// By the system calls, since sanitizers lock nothing.
TEST_F(AbsentPagesTest, AreNotTakenFromLockedMemory) {
  ASSERT_EQ(syscall(SYS_mlock, memory_.page(20), platform::page_size()), 0);
  EXPECT_FALSE(absent_->take(memory_.pages(8, 8), {memory_.pages(8, 8)}));
  ASSERT_EQ(syscall(SYS_munlock, memory_.page(20), platform::page_size()), 0);
  EXPECT_EQ(at(8), 7);
  EXPECT_EQ(filled_, 0);
}

TEST_F(AbsentPagesTest, AreFilledForTheKernel) {
  give_up(memory_.pages(0, pages));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_EQ(write(pipes[1], memory_.page(0), 3), 3);
  char seen[3] = {};
  EXPECT_EQ(read(pipes[0], seen, 3), 3);
  EXPECT_EQ(seen[2], 9);
  EXPECT_EQ(write(pipes[1], "abc", 3), 3);
  EXPECT_EQ(read(pipes[0], memory_.page(5), 3), 3);
  EXPECT_EQ(at(5), 'a');
  iovec local{seen, 3};
  iovec remote{memory_.page(20), 3};
  EXPECT_EQ(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), 3);
  EXPECT_EQ(seen[0], 9);
  close(pipes[0]);
  close(pipes[1]);
  EXPECT_EQ(mlock(memory_.page(30), 4 * platform::page_size()), 0);
  EXPECT_EQ(at(33), 9);
  munlock(memory_.page(30), 4 * platform::page_size());
}

TEST_F(AbsentPagesTest, AreZerosAfterTheProgramHasDroppedThem) {
  give_up(memory_.pages(0, pages));
  ASSERT_EQ(madvise(memory_.page(0), memory_.span().bytes() / 2, MADV_DONTNEED), 0);
  while (!dropped_) std::this_thread::yield();
  EXPECT_EQ(at(3), 0);
  EXPECT_EQ(at(pages - 1), 9);
}

class MovedFiller final : public AbsentPages::Filler {
 public:
  bool moved(Span from, std::uintptr_t to, const platform::IntervalSet& except) override {
    EXPECT_FALSE(except.overlaps({to, to + from.bytes()}));
    return fill(from, to);
  }
  void surrendered(Span span) override { surrenders.push_back(span); }

  std::function<bool(Span from, std::uintptr_t to)> fill;
  std::vector<Span> surrenders;
};

TEST_F(AbsentPagesTest, MoveWithTheirMemory) {
  const auto fill_by_fives = [&](Span from, std::uintptr_t to) {
    std::vector<char> moved(from.bytes(), 5);
    return absent_->fill({to, to + from.bytes()}, moved.data()) != AbsentPages::Filled::not_now;
  };
  MovedFiller filler;
  filler.fill = fill_by_fives;
  absent_->filled_by(&filler);
  give_up(memory_.pages(0, pages));
  const std::size_t bytes = memory_.span().bytes();
  void* const target = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(target, MAP_FAILED);
  ASSERT_EQ(mremap(memory_.page(0), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target), target);
  std::vector<MemoryEvent> events;
  EXPECT_TRUE(tracker_->events().drain(events));
  EXPECT_EQ(static_cast<char*>(target)[bytes - 1], 5);
  absent_->filled_by(nullptr);
  munmap(target, bytes);
}

TEST_F(AbsentPagesTest, AreFilledBeforeTheyAreSurrendered) {
  MovedFiller filler;
  absent_->filled_by(&filler);
  give_up(memory_.pages(0, pages));
  EXPECT_TRUE(surrender_memory(memory_.pages(0, 8)));
  EXPECT_THAT(filler.surrenders, ElementsAre(memory_.pages(0, 8)));
  absent_->filled_by(nullptr);
}

/// Whether a child of fork that runs no handler finds the page.
bool child_finds(const void* page) {
  const pid_t child = fork();
  if (child == 0) _exit(*static_cast<const volatile char*>(page) == 7 ? 0 : 1);
  return test::status_of(child) == 0;
}

// Whatever the program has done to the memory before it forks.
TEST_F(AbsentPagesTest, AreForChildrenOfForkAfterwards) {
  MovedFiller filler;
  filler.fill = [](Span, std::uintptr_t) { return true; };
  absent_->filled_by(&filler);
  for (const std::size_t first : {0, 8, 16, 24, 32}) give_up(memory_.pages(first, 4));
  const std::size_t bytes = 4 * platform::page_size();
  void* const target = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(mremap(memory_.page(8), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target), target);
  ASSERT_EQ(madvise(memory_.page(16), bytes, MADV_DONTNEED), 0);
  EXPECT_TRUE(surrender_memory(memory_.pages(24, 4)));
  tracker_->untrack(memory_.pages(32, 4));
  std::vector<MemoryEvent> events;
  EXPECT_TRUE(tracker_->events().drain(events));
  absent_->before_fork();
  for (char* const page :
       {memory_.page(0), static_cast<char*>(target), memory_.page(16), memory_.page(24), memory_.page(32)}) {
    *page = 7;
    EXPECT_TRUE(child_finds(page)) << page - memory_.page(0);
  }
  absent_->filled_by(nullptr);
  munmap(target, bytes);
}

TEST_F(AbsentPagesTest, OwnDropsAreNoEvents) {
  give_up(memory_.pages(0, pages));
  std::vector<MemoryEvent> events;
  EXPECT_TRUE(tracker_->events().drain(events));
  EXPECT_TRUE(events.empty());
}

TEST_F(AbsentPagesTest, AreNotTrackedAnewWithoutBeingServed) {
  give_up(memory_.pages(8, 8));
  ASSERT_TRUE(tracker_->track(memory_.span()));
  EXPECT_EQ(at(9), 9);
}

}  // namespace
}  // namespace blastoff::tracking
