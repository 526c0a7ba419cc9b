// Filling the host's pages from where they are newest, with pages of which the test decides how they behave.
#include "ledger/pager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "span_printing.h"

namespace blastoff::ledger {
namespace {

using Filled = tracking::AbsentPages::Filled;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uintptr_t begin = std::uintptr_t{1} << 30;
const std::size_t page = platform::page_size();

Span pages(std::size_t first, std::size_t count) {
  return {begin + first * page, begin + (first + count) * page};
}

/// Remembers what it is asked for.
class PlayedPages final : public tracking::AbsentPages {
 public:
  tl::expected<void, std::string> give_up(Span span, bool& partly) override {
    if (on_give_up) on_give_up();
    partly = fails_partly;
    if (fails || fails_partly) return tl::unexpected(std::string("no"));
    given_up.push_back(span);
    return {};
  }
  tl::expected<Taken, std::string> take(Span span, const std::vector<Span>&) override {
    if (fails) return tl::unexpected(std::string("no"));
    taken.push_back(span);
    void* const pages = mmap(nullptr, span.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto at = reinterpret_cast<std::uintptr_t>(pages);
    for (std::size_t byte = 0; byte < span.bytes(); byte += page)
      static_cast<char*>(pages)[byte] = static_cast<char>((span.begin + byte) / page);
    return Taken{span, platform::OwnedMapping({at, at + span.bytes()}), written};
  }
  void put_back(const Taken&, const std::vector<Span>& runs) override { restored = runs; }
  Filled fill(Span span, const void* contents) override {
    if (!answers.empty()) {
      const Filled answer = answers.front();
      answers.pop_front();
      return answer;
    }
    (contents == nullptr ? zeros : filled).push_back(span);
    return Filled::yes;
  }
  bool wait(std::vector<std::uintptr_t>& addresses) override {
    if (touched.empty()) return false;
    addresses.push_back(touched.front());
    touched.pop_front();
    return true;
  }
  void stop_waiting() override {}
  void filled_by(Filler* of) override { filler = of; }
  void before_fork() override { ++forks; }

  std::function<void()> on_give_up;
  bool fails = false;
  bool fails_partly = false;
  std::deque<Filled> answers;  ///< of the next fills; then yes
  std::deque<std::uintptr_t> touched;
  std::vector<Span> written;  ///< what take() finds so
  std::vector<Span> given_up, filled, zeros, taken, restored;
  Filler* filler = nullptr;
  int forks = 0;
};

class PlayedSource final : public PageSource {
 public:
  const void* read(std::span<const PagesOnDevice> runs) override {
    for (const PagesOnDevice& run : runs) reads.emplace_back(run.device, run.host.bytes());
    ++buffers;
    if (on_read) on_read();
    return buffer.data();
  }
  void release(const void*) override { ++released; }
  bool write(std::span<const device::Run> runs) override {
    for (const device::Run& run : runs)
      for (std::size_t byte = 0; byte < run.bytes; byte += page)
        written.emplace_back(run.device + byte, static_cast<const char*>(run.host)[byte]);
    return !lost;
  }

  std::function<void()> on_read;
  std::vector<std::pair<device::Address, std::size_t>> reads;
  std::size_t buffers = 0, released = 0;
  bool lost = false;
  std::vector<std::pair<device::Address, char>> written;  ///< by pages
  std::vector<char> buffer = std::vector<char>(max_bytes);
};

/// One place, which has a copy of 16 MiB.
class PagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uintptr_t at = begin; at < begin + 8 * chunk_bytes; at += chunk_bytes)
      states_.open(0, at, at + (std::uintptr_t{1} << 40));
    pager_.read_from(0, &source_);
  }
  void leave(Span span) { ASSERT_EQ(pager_.leave(0, span), Pager::Left::yes); }
  /// The runs of pages that are filled if somebody touches the pages of these addresses.
  std::vector<Span> touch(std::initializer_list<std::uintptr_t> addresses) {
    pages_.touched.assign(addresses);
    pages_.filled.clear();
    pager_.serve([](const auto&) {});
    return pages_.filled;
  }

  States states_;
  PlayedPages pages_;
  PlayedSource source_;
  int drains_ = 0;
  std::function<void()> on_drain_;
  Pager pager_{states_, pages_, [this] {
                 ++drains_;
                 pager_.apply_events([this] {
                   if (on_drain_) on_drain_();
                 });
               }};
  platform::ResultsGauge gauge_{};
};

TEST_F(PagerTest, BringsHomeWhatWasLeft) {
  pager_.show_in(gauge_);
  leave(pages(4, 4));
  leave(pages(16, 2));
  EXPECT_GT(states_.newest_bytes(pages(0, 8)), 0);
  pager_.bring_home(pages(0, 32));
  EXPECT_THAT(pages_.filled, ElementsAre(pages(4, 4), pages(16, 2)));
  EXPECT_EQ(source_.reads.front().first, pages(4, 4).begin + (std::uintptr_t{1} << 40));
  EXPECT_EQ(source_.released, source_.buffers);
  EXPECT_EQ(states_.newest_bytes(everything), 0);
  EXPECT_EQ(gauge_.brought_home, 6 * page);
}

// What is brought home without being touched does not count as touched.
TEST_F(PagerTest, ShowsWhatBecomesOfPages) {
  pager_.show_in(gauge_);
  leave(pages(4, 4));
  leave(pages(4, 4));
  leave(pages(6, 4));
  EXPECT_EQ(gauge_.overwritten, (4 + 2) * page);
  touch({pages(5, 1).begin});
  EXPECT_EQ(gauge_.touched, 6 * page);
  leave(pages(4, 1));
  pager_.bring_home(everything);
  EXPECT_EQ(gauge_.touched, 6 * page);
  EXPECT_EQ(gauge_.brought_home, 7 * page);
  EXPECT_EQ(gauge_.overwritten, 6 * page);
}

TEST_F(PagerTest, FillsMoreForWhomGoesOn) {
  leave({begin, begin + 8 * chunk_bytes});
  const auto bytes = [](const std::vector<Span>& runs) {
    std::size_t sum = 0;
    for (const Span run : runs) sum += run.bytes();
    return sum;
  };
  const std::size_t first = bytes(touch({begin}));
  const std::size_t second = bytes(touch({begin + first}));
  EXPECT_LE(first, std::size_t{256} << 10);
  EXPECT_GE(first + second, std::size_t{512} << 10);
  EXPECT_LE(bytes(touch({begin + 7 * chunk_bytes})), std::size_t{256} << 10) << "somebody else";
}

// The allocator reads its header there when a result is freed. What lies before it may belong to a result that is still
// being computed.
TEST_F(PagerTest, FillsOnlyThePageOnWhichAResultBegins) {
  const std::uintptr_t second = begin + chunk_bytes + 4 * page;
  leave({begin, begin + 8 * chunk_bytes});
  pager_.note({{begin, second - page / 2}, "dgemm", 1, 1});
  pager_.note({{second + 16, begin + 2 * chunk_bytes}, "dgemm", 1, 1});
  EXPECT_THAT(touch({second}), ElementsAre(Span{second, second + page}));
  const std::vector<Span> others = touch({second + page});
  EXPECT_EQ(others.front().begin, second + page);
  EXPECT_GT(others.front().bytes(), std::size_t{128} << 10) << "who goes on wants the rest";
}

// Pages 2 and 3 hold bytes of the result alone, page 4 some of them.
TEST_F(PagerTest, GivesThePlaceWhatItLacks) {
  const auto others = [](Span run, std::vector<Span>& bytes) {
    for (const Span other : {pages(0, 2), Span{pages(4, 1).begin + 64, pages(8, 1).end}}) {
      const Span common{std::max(run.begin, other.begin), std::min(run.end, other.end)};
      if (!common.empty()) bytes.push_back(common);
    }
  };
  states_.open(0, begin, 0).current.set(1, 2);
  states_.open(0, begin, 0).current.set(5, 7);
  pages_.written = {pages(6, 1)};
  EXPECT_EQ(pager_.leave(0, pages(0, 8), others), Pager::Left::yes);
  EXPECT_THAT(pages_.taken, ElementsAre(pages(0, 8)));
  std::vector<std::pair<device::Address, char>> expected;
  const auto sent = [&](std::uintptr_t address) {
    expected.emplace_back(address + (std::uintptr_t{1} << 40), static_cast<char>(address / page));
  };
  sent(pages(0, 1).begin);
  sent(pages(6, 1).begin);
  sent(pages(7, 1).begin);
  std::erase_if(source_.written, [&](const auto& each) { return each.first % page != 0; });
  EXPECT_THAT(source_.written, ::testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(states_.newest_bytes(everything), 8 * page);
  EXPECT_EQ(pager_.leave(0, pages(2, 3), others), Pager::Left::yes);
  EXPECT_EQ(pages_.taken.size(), 1) << "it is there already";
}

TEST_F(PagerTest, PutsBackWhatThePlaceCannotGet) {
  const auto all = [](Span run, std::vector<Span>& bytes) { bytes.push_back(run); };
  leave(pages(2, 2));
  source_.lost = true;
  EXPECT_EQ(pager_.leave(0, pages(0, 8), all), Pager::Left::no);
  EXPECT_THAT(pages_.restored, ElementsAre(pages(0, 2), pages(4, 4)));
  EXPECT_EQ(states_.newest_bytes(everything), 2 * page);
}

TEST_F(PagerTest, WhatNobodyHasIsZeros) {
  EXPECT_THAT(touch({begin + 5}), IsEmpty());
  EXPECT_THAT(pages_.zeros, ElementsAre(pages(0, 1)));
}

TEST_F(PagerTest, FillsNothingThatAnEventHasEnded) {
  leave(pages(0, 4));
  pages_.answers = {Filled::not_now};
  on_drain_ = [&] { states_.gone(pages(0, 2)); };
  pager_.bring_home(pages(0, 4));
  EXPECT_THAT(pages_.filled, ElementsAre(pages(2, 2)));
  EXPECT_GT(drains_, 0);
}

TEST_F(PagerTest, WaitsForTheEventOfMemoryThatHasGone) {
  leave(pages(0, 4));
  pages_.answers = {Filled::gone, Filled::gone};
  on_drain_ = [&] {
    if (drains_ == 2) states_.gone(pages(0, 4));
  };
  pager_.bring_home(pages(0, 4));
  EXPECT_THAT(pages_.filled, IsEmpty());
}

// Events are applied when the pages that are being filled are there, and not between a look at the states and the end
// of filling.
TEST_F(PagerTest, NoEventIsAppliedWhilePagesAreFilled) {
  leave(pages(0, 4));
  std::atomic<bool> applied = false;
  std::thread other;
  source_.on_read = [&] {
    if (other.joinable()) return;
    other = std::thread([&] {
      pager_.apply_events([&] {
        applied = true;
        EXPECT_EQ(states_.newest_bytes(pages(0, 4)), 0);
      });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(applied);
  };
  pager_.bring_home(pages(0, 4));
  other.join();
  EXPECT_TRUE(applied);
}

// A page that is being given up is not taken for one that is at home.
TEST_F(PagerTest, NothingIsFilledBetweenTheStatesAndTheDrop) {
  std::thread other;
  std::atomic<bool> home = false;
  pages_.on_give_up = [&] {
    other = std::thread([&] {
      pager_.bring_home(pages(0, 4));
      home = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(home);
    EXPECT_THAT(pages_.filled, IsEmpty());
  };
  leave(pages(0, 4));
  other.join();
  EXPECT_THAT(pages_.filled, ElementsAre(pages(0, 4)));
}

TEST_F(PagerTest, WhatIsNotGivenUpStaysAtHome) {
  pages_.fails = true;
  EXPECT_EQ(pager_.leave(0, pages(0, 4)), Pager::Left::no);
  EXPECT_EQ(states_.newest_bytes(pages(0, 4)), 0);
  pages_.fails_partly = true;
  EXPECT_EQ(pager_.leave(0, pages(0, 4)), Pager::Left::partly);
  pager_.bring_home(pages(0, 4));
  EXPECT_THAT(pages_.filled, ElementsAre(pages(0, 4)));
}

TEST_F(PagerTest, NothingIsGivenUpTwice) {
  leave(pages(0, 4));
  leave(pages(0, 4));
  EXPECT_THAT(pages_.given_up, ElementsAre(pages(0, 4)));
}

TEST_F(PagerTest, NothingIsLeftWhileTheProcessForks) {
  leave(pages(0, 4));
  pager_.before_fork();
  EXPECT_EQ(pages_.forks, 1);
  EXPECT_EQ(states_.newest_bytes(everything), 0);
  EXPECT_EQ(pager_.leave(0, pages(0, 4)), Pager::Left::no);
  pager_.after_fork_in_parent();
  leave(pages(0, 4));
}

TEST_F(PagerTest, NothingIsLeftAfterTheEnd) {
  leave(pages(0, 4));
  pager_.end();
  EXPECT_EQ(states_.newest_bytes(everything), 0);
  EXPECT_EQ(pager_.leave(0, pages(0, 4)), Pager::Left::no);
}

TEST_F(PagerTest, MemoryThatMovesIsFilledAtItsNewPlace) {
  leave(pages(2, 4));
  platform::IntervalSet dropped;
  dropped.add(pages(1003, 1));
  EXPECT_TRUE(pages_.filler->moved(pages(0, 8), pages(1000, 8).begin, dropped));
  EXPECT_THAT(pages_.filled, ElementsAre(pages(1002, 1), pages(1004, 2)));
}

TEST_F(PagerTest, MemoryThatIsSurrenderedComesHome) {
  leave(pages(2, 4));
  pages_.filler->surrendered(pages(0, 4));
  EXPECT_THAT(pages_.filled, ElementsAre(pages(2, 2)));
}

}  // namespace
}  // namespace blastoff::ledger
