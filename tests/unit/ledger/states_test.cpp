// The states of pages against a plain map, and between threads.
#include "ledger/states.h"

#include <algorithm>
#include <array>
#include <atomic>
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

std::vector<Span> taken_at(States& states, std::size_t place, Span span) {
  std::vector<Span> runs;
  states.take_invalid(place, span, runs);
  return runs;
}

TEST(States, TellWhatBecameInvalidSinceItWasTaken) {
  States states;
  const Span span{group, group + 8 * page};
  states.invalidate(span);
  EXPECT_THAT(invalid_at(states, 0, span), IsEmpty()) << "nothing is open";
  states.open(0, span);
  EXPECT_THAT(taken_at(states, 0, span), ElementsAre(span)) << "nothing is known";
  states.open(0, span);
  EXPECT_THAT(invalid_at(states, 0, span), IsEmpty());
  states.invalidate({group + page, group + 3 * page});
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(Span{group + page, group + 3 * page}));
  EXPECT_THAT(invalid_at(states, 1, span), IsEmpty());
}

TEST(States, TellWhatIsTakenOnce) {
  States states;
  const Span span{group, group + 8 * page};
  states.open(0, span);
  EXPECT_THAT(taken_at(states, 0, {group, group + 2 * page}), ElementsAre(Span{group, group + 2 * page}));
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(Span{group + 2 * page, group + 8 * page}));
}

TEST(States, SpareThePlaceThatWrote) {
  States states;
  const Span span{group, group + page};
  for (const std::size_t place : {0, 1, 2}) {
    states.open(place, span);
    taken_at(states, place, span);
  }
  states.invalidate(span, 1);
  EXPECT_THAT(invalid_at(states, 0, span), ElementsAre(span));
  EXPECT_THAT(invalid_at(states, 1, span), IsEmpty());
  EXPECT_THAT(invalid_at(states, 2, span), ElementsAre(span));
}

TEST(States, EndWithTheMemory) {
  States states;
  const Span span{2 * group - chunk_bytes, 2 * group + 2 * chunk_bytes};
  states.open(0, span);
  states.open(1, span);
  taken_at(states, 0, span);
  states.close(0, {span.begin, span.end - page});
  EXPECT_FALSE(states.any_open(0, {span.begin, span.end - chunk_bytes}));
  EXPECT_TRUE(states.any_open(0, {span.begin, span.end - chunk_bytes + page})) << "a part of the last chunk is left";
  EXPECT_THAT(invalid_at(states, 0, span), IsEmpty());
  states.open(0, span);
  EXPECT_THAT(taken_at(states, 0, span), ElementsAre(Span{span.begin, span.end - chunk_bytes})) << "opened anew";
  states.close(0, {0, UINTPTR_MAX});
  EXPECT_FALSE(states.any_open(0, span));
  for (std::uintptr_t chunk = span.begin; chunk < span.end; chunk += chunk_bytes)
    EXPECT_TRUE(states.any_open(1, {chunk, chunk + chunk_bytes}));
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
    switch (below(8)) {
      case 0: open(place, first, last); break;
      case 1:
        if (below(8) == 0) close(place, first, last);
        break;
      case 2: invalidate(first, last, States::nowhere); break;
      case 3: invalidate(first, last, place); break;
      case 4:
      case 5: compare(place, first, last, true); break;
      default: compare(place, first, last, false);
    }
  }

 private:
  static constexpr std::size_t places = 3;
  static constexpr std::size_t chunks = 4;
  static constexpr std::uintptr_t begin = 7 * group - 2 * chunk_bytes;
  enum class Known : std::uint8_t { nothing, valid, invalid };

  std::size_t below(std::size_t bound) { return random_() % bound; }
  Span span_of(std::size_t first, std::size_t last) const { return {begin + first * page, begin + last * page}; }

  void open(std::size_t place, std::size_t first, std::size_t last) {
    states_.open(place, span_of(first, last));
    for (std::size_t at = first / in_chunk_ * in_chunk_; at < (last + in_chunk_ - 1) / in_chunk_ * in_chunk_; ++at)
      if (known_[place][at] == Known::nothing) known_[place][at] = Known::invalid;
  }

  void close(std::size_t place, std::size_t first, std::size_t last) {
    states_.close(place, span_of(first, last));
    for (std::size_t at = (first + in_chunk_ - 1) / in_chunk_ * in_chunk_; at < last / in_chunk_ * in_chunk_; ++at)
      known_[place][at] = Known::nothing;
  }

  void invalidate(std::size_t first, std::size_t last, std::size_t except) {
    states_.invalidate(span_of(first, last), except);
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t at = first; at < last && place != except; ++at)
        if (known_[place][at] == Known::valid) known_[place][at] = Known::invalid;
  }

  void compare(std::size_t place, std::size_t first, std::size_t last, bool take) {
    runs_.clear();
    if (take)
      states_.take_invalid(place, span_of(first, last), runs_);
    else
      states_.invalid(place, span_of(first, last), runs_);
    auto run = runs_.begin();
    for (std::size_t at = first; at < last; ++at) {
      const std::uintptr_t address = begin + at * page;
      while (run != runs_.end() && run->end <= address) ++run;
      const bool told = run != runs_.end() && run->begin <= address;
      ASSERT_EQ(told, known_[place][at] == Known::invalid) << "place " << place << ", page " << at;
      if (take && told) known_[place][at] = Known::valid;
    }
    for (const Span each : runs_) ASSERT_TRUE(span_of(first, last).contains(each));
  }

  const std::size_t in_chunk_ = chunk_bytes / page;
  const std::size_t pages_ = chunks * in_chunk_;
  std::mt19937 random_;
  States states_;
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
  for (std::size_t who = 0; who < threads; ++who) states.open(who, all);
  const auto refresh = [&](std::size_t who) {
    std::vector<Span> runs;
    states.take_invalid(who, all, runs);
    for (const Span run : runs)
      for (std::uintptr_t at = run.begin; at < run.end; at += page)
        for (std::size_t writer = 0; writer < threads; ++writer) {
          const std::size_t number = (at - all.begin) / page;
          seen[who][writer][number] = versions[writer][number];
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
