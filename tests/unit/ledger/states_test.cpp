// The states of pages against a plain map, and between threads.
#include "ledger/states.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "span_printing.h"

namespace blastoff::ledger {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::size_t page = platform::page_size();
constexpr std::uintptr_t group = std::uintptr_t{128} << 20;

std::vector<Span> invalid_at(States& states, std::size_t place, Span span) {
  std::vector<Span> runs;
  states.invalid(place, span, runs);
  return runs;
}

/// Where the copies of a place lie.
device::Address base(std::size_t place) {
  return (place + 1) << 40;
}

void open(States& states, std::size_t place, Span span) {
  for (std::uintptr_t chunk = span.begin / chunk_bytes * chunk_bytes; chunk < span.end; chunk += chunk_bytes)
    states.open(place, chunk, base(place) + chunk);
}

const States::Covers never = [](const Copy&, Span) { return false; };

/// The pages that each of two holders, 1 and 2, has.
std::vector<std::pair<Span, std::size_t>> holders_of(States& states, Span span, const States::Covers& covers = never) {
  constexpr std::array<std::size_t, 2> holders = {1, 2};
  Loan loan;
  states.who_has(span, holders, covers, loan);
  std::vector<std::pair<Span, std::size_t>> found;
  for (const PagesOnDevice& run : loan.runs())
    found.emplace_back(run.host, static_cast<std::size_t>((run.device - run.host.begin) >> 40) - 1);
  return found;
}

TEST(States, TellWhatBecameInvalidSinceItWasOpened) {
  States states;
  const Span span{group, group + 8 * page};
  states.invalidate(span);
  open(states, 0, span);
  EXPECT_THAT(invalid_at(states, 0, span), IsEmpty());
  states.invalidate({group + page, group + 3 * page});
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(Span{group + page, group + 3 * page}));
  EXPECT_THAT(invalid_at(states, 1, span), IsEmpty());
}

TEST(States, StayInvalidUntilTaken) {
  States states;
  const Span span{group, group + 8 * page};
  open(states, 0, span);
  states.open(0, group, 0).current.set(0, 8);
  states.invalidate(span);
  EXPECT_EQ(states.take(0, {group, group + 2 * page}), 2U);
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(Span{group + 2 * page, group + 8 * page}));
  EXPECT_EQ(states.take(0, {group, group + 2 * page}), 0U);
}

TEST(States, SpareThePlaceThatWrote) {
  States states;
  const Span span{group, group + page};
  for (const std::size_t place : {0, 1, 2}) open(states, place, span);
  states.invalidate(span, 1);
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(span));
  EXPECT_THAT(invalid_at(states, 1, span), IsEmpty());
  EXPECT_THAT(invalid_at(states, 2, span), ElementsAre(span));
}

TEST(States, AreNothingAfterTheEnd) {
  States states;
  const Span span{group - page, group + page};
  open(states, 0, span);
  states.invalidate(span);
  states.close(0, group - chunk_bytes);
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(Span{group, group + page}));
  open(states, 0, span);
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(Span{group, group + page})) << "opened anew";
}

TEST(States, TellWhoHasAPage) {
  States states;
  const Span span{group - 4 * page, group + 4 * page};
  open(states, 1, span);
  open(states, 2, span);
  EXPECT_THAT(holders_of(states, span), IsEmpty());
  const std::size_t end = chunk_bytes / page;
  states.open(1, group - chunk_bytes, 0).current.set(end - 4, end);
  states.open(1, group, 0).current.set(0, 1);
  states.open(2, group, 0).current.set(0, 3);
  EXPECT_THAT(holders_of(states, span), ElementsAre(std::pair(Span{span.begin, group + page}, 1),
                                                    std::pair(Span{group + page, group + 3 * page}, 2)))
      << "each page once, in runs that are one on both sides";
  states.open(1, group, 0).arriving.set(0, 1);
  states.invalidate({group - 4 * page, group - 2 * page});
  EXPECT_THAT(holders_of(states, span),
              ElementsAre(std::pair(Span{group - 2 * page, group}, 1), std::pair(Span{group, group + 3 * page}, 2)));
}

TEST(States, TellOfPartsOnlyWhereTheyAreEnough) {
  States states;
  const Span span{group, group + 2 * page};
  Copy& copy = states.open(1, group, base(1) + group);
  copy.current.set(0, 2);
  copy.partial.set(0, 1);
  EXPECT_THAT(holders_of(states, span), ElementsAre(std::pair(Span{group + page, group + 2 * page}, 1)));
  const auto enough = [&](const Copy& of, Span one) { return &of == &copy && one == Span{group, group + page}; };
  EXPECT_THAT(holders_of(states, span, enough), ElementsAre(std::pair(span, 1)));
}

// Nobody can have written them since they arrived, and whoever has not looked for writes may take no others.
TEST(States, TellOfSteadyPagesWhateverElseIsKnown) {
  States states;
  const Span span{group, group + 4 * page};
  Copy& copy = states.open(1, group, base(1) + group);
  copy.steady.set(0, 2);
  copy.current.set(1, 4);
  states.invalidate({group, group + 3 * page});
  EXPECT_THAT(holders_of(states, span, {}), ElementsAre(std::pair(Span{group, group + 2 * page}, 1)));
  EXPECT_THAT(holders_of(states, span), ElementsAre(std::pair(Span{group, group + 2 * page}, 1),
                                                    std::pair(Span{group + 3 * page, group + 4 * page}, 1)));
  copy.arriving.set(1, 2);
  EXPECT_THAT(holders_of(states, span, {}), ElementsAre(std::pair(Span{group, group + page}, 1)));
  states.end_steady(1, {group, group + page});
  EXPECT_THAT(holders_of(states, span, {}), IsEmpty());
}

TEST(States, AreWaitedForUntilTheyHaveArrived) {
  using std::chrono::steady_clock;
  States states;
  const Span span{group - page, group + page};  // in two groups
  open(states, 1, span);
  const std::size_t last = chunk_bytes / page - 1;
  Copy& before = states.open(1, group - chunk_bytes, 0);
  Copy& behind = states.open(1, group, 0);
  states.await_arrival(1, span, steady_clock::time_point::max());
  before.arriving.set(last, last + 1);
  behind.arriving.set(0, 2);
  const auto begin = steady_clock::now();
  states.await_arrival(1, span, begin + std::chrono::milliseconds(10));
  EXPECT_GE(steady_clock::now() - begin, std::chrono::milliseconds(10));
  states.await_arrival(2, span, steady_clock::time_point::max());  // which has no copy of them
  std::atomic<bool> arrived = false;
  std::thread waiting([&] {
    states.await_arrival(1, span, steady_clock::now() + std::chrono::seconds(60));
    EXPECT_TRUE(arrived);
  });
  {
    const auto lock = behind.lock();
    behind.end_arrival(1, 2);
  }
  {
    const auto lock = before.lock();
    before.end_arrival(last, last + 1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  {
    const auto lock = behind.lock();
    arrived = true;
    behind.end_arrival(0, 1);
  }
  waiting.join();
}

TEST(States, KnowWhatIsLent) {
  States states;
  Copy& copy = states.open(1, group, base(1) + group);
  copy.current.set(0, 2);
  const std::array<std::size_t, 1> holders = {1};
  {
    Loan loan;
    states.who_has({group, group + page}, holders, never, loan);
    EXPECT_EQ(copy.lent, 1U);
    const Loan moved = std::move(loan);
    EXPECT_EQ(copy.lent, 1U);
  }
  EXPECT_EQ(copy.lent, 0U);
}

/// Three places, some chunks on both sides of a border of groups, and what a plain map knows of their pages.
class RandomStates {
 public:
  explicit RandomStates(unsigned seed) : random_(seed) {}

  void step() {
    const std::size_t first = below(pages_);
    const std::size_t length = below(16) == 0 ? pages_ : 8;
    const std::size_t last = std::min(pages_, first + 1 + below(length));
    const std::size_t place = below(places);
    switch (below(14)) {
      case 0: open_or_close(place, first / in_chunk_); break;
      case 1: invalidate(first, last, States::nowhere); break;
      case 2: invalidate(first, last, place); break;
      case 3: take(place, first, last); break;
      case 4:
      case 5:
      case 6: change(place, first); break;
      case 7: ask(place, first, last); break;
      case 8: leave(place, first, last); break;
      case 9: below(2) == 0 ? home(first, last) : gone(first, last); break;
      case 10: bring_home(first, last); break;
      case 11: end_steady(place, first, last); break;
      default: compare(place, first, last);
    }
  }

 private:
  static constexpr std::size_t places = 3;
  static constexpr std::size_t chunks = 4;
  static constexpr std::uintptr_t begin = 7 * group - 2 * chunk_bytes;
  struct Known {
    bool invalid = false;
    bool current = false;
    bool partial = false;
    bool arriving = false;
    bool newest = false;
    bool steady = false;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }
  Span span_of(std::size_t first, std::size_t last) const { return {begin + first * page, begin + last * page}; }
  Copy* copy_of(std::size_t place, std::size_t at) const { return copies_[place][at / in_chunk_]; }

  void open_or_close(std::size_t place, std::size_t chunk) {
    const std::uintptr_t address = begin + chunk * chunk_bytes;
    Copy*& copy = copies_[place][chunk];
    if (!copy) {
      copy = &states_.open(place, address, base(place) + address);
    } else if (below(8) == 0 && !newest_of(place, chunk)) {
      states_.close(place, address);
      copy = nullptr;
      for (std::size_t at = chunk * in_chunk_; at < (chunk + 1) * in_chunk_; ++at) known_[place][at] = {};
    }
  }

  bool newest_of(std::size_t place, std::size_t chunk) const {
    const auto* const known = known_[place].data() + chunk * in_chunk_;
    return std::any_of(known, known + in_chunk_, [](const Known& each) { return each.newest; });
  }

  /// The place has computed pages of which it has open copies.
  void leave(std::size_t place, std::size_t first, std::size_t last) {
    for (std::size_t at = first; at < last; ++at)
      if (!copy_of(place, at)) return;
    ASSERT_TRUE(states_.leave(place, span_of(first, last)));
    ASSERT_TRUE(states_.all_newest(place, span_of(first, last)));
    for (std::size_t other = 0; other < places; ++other)
      for (std::size_t at = first; at < last; ++at) {
        Known& known = known_[other][at];
        known.newest = other == place;
        if (other == place) {
          known.current = true;
          known.partial = known.invalid = false;
        } else if (copy_of(other, at)) {
          known.invalid = true;
        }
      }
  }

  void home(std::size_t first, std::size_t last) {
    states_.home(span_of(first, last));
    for (auto& known : known_)
      for (std::size_t at = first; at < last; ++at) known[at].newest = false;
  }

  void gone(std::size_t first, std::size_t last) {
    states_.gone(span_of(first, last));
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t at = first; at < last; ++at) {
        known_[place][at].newest = false;
        known_[place][at].invalid = copy_of(place, at) != nullptr;
      }
  }

  void end_steady(std::size_t place, std::size_t first, std::size_t last) {
    states_.end_steady(place, span_of(first, last));
    for (std::size_t at = first; at < last; ++at) known_[place][at].steady = false;
  }

  /// What is newest is found once, where it is, and stays there meanwhile.
  void bring_home(std::size_t first, std::size_t last) {
    Loan loan;
    states_.newest(span_of(first, last), loan);
    std::vector<std::size_t> found(last - first, places);
    for (const PagesOnDevice& run : loan.runs()) {
      ASSERT_EQ(run.device, base(run.place) + run.host.begin);
      for (std::uintptr_t at = run.host.begin; at < run.host.end; at += page)
        found.at((at - begin) / page - first) = run.place;
      ASSERT_FALSE(states_.leave(run.place, run.host)) << "it is lent";
    }
    for (std::size_t at = first; at < last; ++at) {
      std::size_t expected = places;
      for (std::size_t place = 0; place < places; ++place)
        if (known_[place][at].newest) expected = place;
      ASSERT_EQ(found[at - first], expected) << "page " << at;
    }
    ASSERT_EQ(states_.any_newest(span_of(first, last)), !loan.runs().empty());
    home(first, last);
  }

  void invalidate(std::size_t first, std::size_t last, std::size_t except) {
    states_.invalidate(span_of(first, last), except);
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t at = first; at < last && place != except; ++at)
        known_[place][at].invalid = copy_of(place, at) != nullptr;
  }

  void take(std::size_t place, std::size_t first, std::size_t last) {
    std::size_t current = 0;
    for (std::size_t at = first; at < last; ++at) {
      Known& known = known_[place][at];
      if (known.newest) continue;
      current += known.current ? 1 : 0;
      known.current = known.invalid = false;
    }
    ASSERT_EQ(states_.take(place, span_of(first, last)), current);
  }

  /// What the place itself says of a page.
  void change(std::size_t place, std::size_t at) {
    Copy* const copy = copy_of(place, at);
    if (!copy) return;
    Known& known = known_[place][at];
    if (known.newest) return;
    known = {known.invalid, below(4) > 0, below(3) == 0, below(6) == 0, false, below(4) == 0};
    const auto lock = copy->lock();
    const std::size_t number = at % in_chunk_;
    const auto put = [&](PageBitmap& pages, bool bit) {
      bit ? pages.set(number, number + 1) : pages.clear(number, number + 1);
    };
    put(copy->current, known.current);
    put(copy->partial, known.partial);
    put(copy->arriving, known.arriving);
    put(copy->steady, known.steady);
  }

  /// A place asks who else has the pages, or has steady ones. Parts are enough on even pages.
  void ask(std::size_t asking, std::size_t first, std::size_t last) {
    std::vector<std::size_t> holders;
    for (std::size_t place = 0; place < places; ++place)
      if (place != asking) holders.push_back(place);
    const bool steady_alone = below(3) == 0;
    const States::Covers even = [&](const Copy&, Span one) { return (one.begin - begin) / page % 2 == 0; };
    Loan loan;
    states_.who_has(span_of(first, last), holders, steady_alone ? nullptr : even, loan);
    std::vector<device::Address> found(last - first);
    for (const PagesOnDevice& run : loan.runs())
      for (std::uintptr_t at = run.host.begin; at < run.host.end; at += page) {
        device::Address& address = found.at((at - begin) / page - first);
        ASSERT_EQ(address, 0U) << "twice";
        address = run.device + (at - run.host.begin);
      }
    for (std::size_t at = first; at < last; ++at) {
      device::Address expected = 0;
      for (const std::size_t place : holders) {
        const Known& known = known_[place][at];
        const bool current = !steady_alone && known.current && !known.invalid && (!known.partial || at % 2 == 0);
        const bool there = (known.steady || current) && !known.arriving;
        if (there && expected == 0) expected = base(place) + begin + at * page;
      }
      ASSERT_EQ(found[at - first], expected) << "page " << at;
    }
  }

  void compare(std::size_t place, std::size_t first, std::size_t last) {
    runs_.clear();
    states_.invalid(place, span_of(first, last), runs_);
    auto run = runs_.begin();
    for (std::size_t at = first; at < last; ++at) {
      const std::uintptr_t address = begin + at * page;
      while (run != runs_.end() && run->end <= address) ++run;
      const bool told = run != runs_.end() && run->begin <= address;
      ASSERT_EQ(told, known_[place][at].invalid) << "place " << place << ", page " << at;
    }
    for (const Span each : runs_) ASSERT_TRUE(span_of(first, last).contains(each));
  }

  const std::size_t in_chunk_ = chunk_bytes / page;
  const std::size_t pages_ = chunks * in_chunk_;
  std::mt19937 random_;
  States states_;
  std::array<std::array<Copy*, chunks>, places> copies_{};
  std::array<std::array<Known, chunks * max_pages_per_chunk>, places> known_{};
  std::vector<Span> runs_;
};

// BLASTOFF_LEDGER_STEPS asks for more than CI does.
TEST(States, AreThoseOfAPlainMap) {
  const char* const asked = std::getenv("BLASTOFF_LEDGER_STEPS");
  const std::size_t steps = asked ? std::stoul(asked) : 2'000'000;
  RandomStates states(static_cast<unsigned>(steps));
  for (std::size_t i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
    states.step();
    if (::testing::Test::HasFatalFailure()) FAIL() << "step " << i;
  }
}

// Each thread has a place and pages of its own that it invalidates everywhere; all of them look at all pages. What was
// invalidated is told to each of the others at least once, or at the end.
TEST(States, LoseNothingBetweenThreads) {
  constexpr std::size_t threads = 3;
  constexpr std::size_t pages = 96;
  constexpr int rounds = 20'000;
  States states;
  const Span all{3 * group - pages / 2 * page, 3 * group + pages / 2 * page};
  std::array<std::array<std::atomic<int>, pages>, threads> versions{};  // by who invalidated the page
  std::array<std::array<std::array<int, pages>, threads>, threads> seen{};
  for (std::size_t who = 0; who < threads; ++who) open(states, who, all);
  const auto refresh = [&](std::size_t who) {
    for (const Span run : invalid_at(states, who, all)) {
      states.take(who, run);
      for (std::uintptr_t at = run.begin; at < run.end; at += page)
        for (std::size_t writer = 0; writer < threads; ++writer) {
          const std::size_t number = (at - all.begin) / page;
          seen[who][writer][number] = versions[writer][number];
        }
    }
  };
  std::vector<std::thread> running;
  for (std::size_t who = 0; who < threads; ++who)
    running.emplace_back([&, who] {
      std::mt19937 random(static_cast<unsigned>(who));
      for (int round = 1; round <= rounds; ++round) {
        const std::size_t number = random() % pages;
        versions[who][number] = round;
        states.invalidate({all.begin + number * page, all.begin + (number + 1) * page}, who);
        if (random() % 4 == 0) refresh(who);
      }
    });
  for (std::thread& each : running) each.join();
  for (std::size_t who = 0; who < threads; ++who) {
    refresh(who);
    for (std::size_t writer = 0; writer < threads; ++writer)
      for (std::size_t number = 0; number < pages && writer != who; ++number)
        EXPECT_EQ(seen[who][writer][number], versions[writer][number]);
  }
}

}  // namespace
}  // namespace blastoff::ledger
