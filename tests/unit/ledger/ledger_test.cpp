// Places that share a tracker against a model of what each must know, and between threads.
#include "ledger/ledger.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mapped_memory.h"
#include "played_tracker.h"
#include "span_printing.h"

namespace blastoff::ledger {

namespace {

using test::PlayedTracker;
using test::span_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using tracking::MemoryEvent;

constexpr std::size_t pages = PlayedTracker::pages;

/// A ledger over played pages, with places that have copies of their chunk and have protected all of them.
struct Shared {
  explicit Shared(std::size_t count) {
    auto owned = std::make_unique<PlayedTracker>();
    tracker = owned.get();
    EXPECT_TRUE(tracker->track(span_of(0, pages)));
    ledger = std::make_unique<Ledger>(std::move(owned), Ledger::Places::several);
    for (std::size_t i = 0; i < count; ++i) {
      places.push_back(std::make_unique<Place>(*ledger));
      places.back()->open(0, 0);
    }
    for (std::size_t i = 0; i < count; ++i) written(i);
  }

  /// What a protecting scan of all pages reports, and the place takes.
  std::vector<Span> written(std::size_t place) {
    std::vector<Span> runs;
    EXPECT_TRUE(places.at(place)->scan(span_of(0, pages), true, runs));
    for (const Span run : runs) places.at(place)->take(run);
    return runs;
  }

  PlayedTracker* tracker;
  std::unique_ptr<Ledger> ledger;
  std::vector<std::unique_ptr<Place>> places;
};

TEST(Ledger, TellsEveryPlaceWhatOneOfThemFinds) {
  Shared shared(3);
  shared.tracker->write(span_of(3, 5));
  EXPECT_THAT(shared.written(0), ElementsAre(span_of(3, 5)));
  EXPECT_THAT(shared.written(0), IsEmpty());
  shared.tracker->write(span_of(4, 6));
  EXPECT_THAT(shared.written(1), ElementsAre(span_of(3, 6)));
  EXPECT_THAT(shared.written(0), ElementsAre(span_of(4, 6)));
  EXPECT_THAT(shared.written(2), ElementsAre(span_of(3, 6)));
}

// Another thread that uses the same copies may have scanned in between.
TEST(Ledger, APlaceKeepsWhatItsScansFindUntilItTakesIt) {
  Shared shared(1);
  Place& place = *shared.places[0];
  shared.tracker->write(span_of(3, 5));
  for (int twice = 0; twice < 2; ++twice) {
    std::vector<Span> runs;
    EXPECT_TRUE(place.scan(span_of(0, 8), true, runs));
    EXPECT_THAT(runs, ElementsAre(span_of(3, 5)));
  }
  place.take(span_of(3, 4));
  std::vector<Span> left;
  place.invalid(span_of(0, 8), left);
  EXPECT_THAT(left, ElementsAre(span_of(4, 5)));
}

TEST(Ledger, TellsTheOthersWhatAPlaceWrote) {
  Shared shared(2);
  shared.places[0]->wrote(span_of(7, 9));
  EXPECT_THAT(shared.written(0), IsEmpty());
  EXPECT_THAT(shared.written(1), ElementsAre(span_of(7, 9)));
  EXPECT_THAT(shared.written(1), IsEmpty());
}

// A page that was protected before it opened the chunk is one that it must hear of from then on.
TEST(Ledger, TellsAPlaceThatCameLater) {
  Shared shared(1);
  Place later(*shared.ledger);
  later.open(0, 0);
  std::vector<Span> runs;
  EXPECT_TRUE(later.scan(span_of(0, 8), false, runs));
  EXPECT_THAT(runs, IsEmpty());
  shared.tracker->write(span_of(2, 3));
  EXPECT_THAT(shared.written(0), ElementsAre(span_of(2, 3)));
  EXPECT_TRUE(later.scan(span_of(0, 8), false, runs));
  EXPECT_THAT(runs, ElementsAre(span_of(2, 3)));
}

const States::Covers never = [](const Copy&, Span) { return false; };

// What another place's copy held when it was last protected there is not what the program has written since.
TEST(Ledger, NobodyHasWhatWasWritten) {
  Shared shared(2);
  const std::array<std::size_t, 1> other = {1};
  shared.places[1]->open(0, 0).current.set(0, 8);
  const auto lent = [&] { return shared.places[0]->who_has({span_of(0, 8)}, other, never).runs(); };
  ASSERT_EQ(lent().size(), 1U);
  EXPECT_EQ(lent().front().host, span_of(0, 8));
  shared.tracker->write(span_of(0, 2));
  shared.written(0);
  ASSERT_EQ(lent().size(), 1U);
  EXPECT_EQ(lent().front().host, span_of(2, 8)) << "found by the place that asks";
  shared.tracker->write(span_of(2, 3));
  std::vector<Span> runs;
  EXPECT_TRUE(shared.places[1]->scan(span_of(0, 8), true, runs));
  ASSERT_EQ(lent().size(), 1U);
  EXPECT_EQ(lent().front().host, span_of(3, 8)) << "found by the other one, which has not taken it yet";
  shared.places[0]->wrote(span_of(3, 4));
  shared.tracker->happen({MemoryEvent::Kind::dropped, span_of(4, 5)});
  std::vector<MemoryEvent> events;
  EXPECT_TRUE(shared.places[0]->drain(events));
  ASSERT_EQ(lent().size(), 1U);
  EXPECT_EQ(lent().front().host, span_of(5, 8)) << "gone, which the other one has not heard yet";
  shared.places[0]->answer(0, true);
  EXPECT_THAT(lent(), IsEmpty());
}

TEST(Ledger, KnowsWhetherFindingsWereAskedAbout) {
  Shared shared(2);
  Place& place = *shared.places[0];
  place.answer(place.findings(), false);
  EXPECT_FALSE(place.unasked());
  shared.written(1);
  EXPECT_FALSE(place.unasked()) << "nothing was found";
  shared.tracker->write(span_of(2, 3));
  shared.written(1);
  EXPECT_TRUE(place.unasked());
  const std::uint64_t before = place.findings();
  shared.tracker->write(span_of(2, 3));
  shared.written(0);
  place.answer(before, false);
  EXPECT_TRUE(place.unasked());
  shared.places[1]->answer(place.findings(), false);
  EXPECT_FALSE(place.unasked());
}

// What became current while there was a foreign writer is no more trusted than what did before.
TEST(Ledger, NothingIsCurrentWhenAForeignWriterIsFoundOrHasGone) {
  Shared shared(2);
  shared.tracker->write(span_of(2, 3));
  shared.written(0);
  for (const bool foreign : {true, false}) {
    for (const auto& place : shared.places) place->open(0, 0).current.set(0, 8);
    shared.places[1]->answer(shared.places[0]->findings(), foreign);
    EXPECT_EQ(shared.places[0]->foreign(), foreign);
    EXPECT_EQ(shared.places[0]->unasked(), foreign);
    for (const std::size_t place : {0U, 1U}) EXPECT_THAT(shared.written(place), ElementsAre(span_of(0, pages)));
  }
}

// A scan that finds its memory replaced may have consumed pages in front of that.
TEST(Ledger, TellsEveryPlaceWhatABrokenScanMayHaveConsumed) {
  Shared shared(2);
  shared.tracker->write(span_of(1, 2));
  shared.tracker->untrack(span_of(5, 6));  // as if replaced, with the event still on its way
  std::vector<Span> runs;
  EXPECT_FALSE(shared.places[0]->scan(span_of(0, 8), true, runs));
  EXPECT_THAT(runs, IsEmpty());
  for (const auto& place : shared.places) {
    runs.clear();
    EXPECT_TRUE(place->scan(span_of(0, 5), true, runs));
    EXPECT_THAT(runs, ElementsAre(span_of(0, 5)));
    place->take(span_of(0, 5));
  }
}

TEST(Ledger, HandsEventsToEveryPlace) {
  Shared shared(2);
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(2, 4)});
  shared.tracker->happen({MemoryEvent::Kind::dropped, span_of(8, 9)});
  for (const auto& place : shared.places) {
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(place->drain(events));
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].span, span_of(2, 4));
    EXPECT_EQ(events[1].kind, MemoryEvent::Kind::dropped);
    std::vector<Span> runs;
    EXPECT_FALSE(place->scan(span_of(0, 4), true, runs));
    EXPECT_TRUE(place->scan(span_of(8, 9), true, runs));
  }
}

TEST(Ledger, TellsEveryPlaceOnceThatEventsWereLost) {
  Shared shared(2);
  shared.tracker->lose_events();
  for (const auto& place : shared.places) {
    std::vector<MemoryEvent> events;
    EXPECT_FALSE(place->drain(events));
    EXPECT_TRUE(place->drain(events));
  }
}

// A place that never asks remembers no more than that it has missed something.
TEST(Ledger, KeepsNoEndlessListForAPlaceThatDoesNotAsk) {
  Shared shared(2);
  std::vector<MemoryEvent> events;
  for (int i = 0; i < 5000; ++i) {
    shared.tracker->happen({MemoryEvent::Kind::dropped, span_of(1, 2)});
    EXPECT_TRUE(shared.places[0]->drain(events));
  }
  EXPECT_EQ(events.size(), 5000U);
  events.clear();
  EXPECT_FALSE(shared.places[1]->drain(events));
  EXPECT_THAT(events, IsEmpty());
}

// Tracked for all places by the first that asks; new memory at the same addresses is watched anew.
TEST(Ledger, WatchesMemoryOfTheProgram) {
  auto tracker = tracking::open_page_tracker();
  if (!tracker) GTEST_SKIP() << tracker.error();
  Ledger ledger(std::move(*tracker), Ledger::Places::several);
  Place first(ledger);
  Place second(ledger);
  test::Memory memory(16);
  memory.touch();
  std::vector<Span> runs;
  for (Place* place : {&first, &second}) {
    ASSERT_TRUE(place->watch(memory.span()));
    for (const std::uintptr_t in_chunk : {memory.span().begin, memory.span().end - 1})
      place->open(in_chunk / chunk_bytes * chunk_bytes, 0);
    ASSERT_TRUE(place->scan(memory.span(), true, runs));
    place->take(memory.span());
  }
  *memory.page(3) = 1;
  for (Place* place : {&first, &second}) {
    runs.clear();
    ASSERT_TRUE(place->scan(memory.span(), true, runs));
    EXPECT_THAT(runs, ElementsAre(Span{memory.span().begin + 3 * platform::page_size(),
                                       memory.span().begin + 4 * platform::page_size()}));
  }
  madvise(memory.page(0), memory.span().bytes(), MADV_DONTNEED);
  for (Place* place : {&first, &second}) {
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(place->drain(events));
    EXPECT_EQ(events.size(), 1U);
  }
}

// Every place has a thread that waits; whoever drains, all wake, and each can be released alone.
TEST(Ledger, WakesEveryPlaceThatWaits) {
  Shared shared(3);
  std::array<std::atomic<int>, 3> woken{};
  std::vector<std::thread> waiting;
  for (std::size_t i = 0; i < woken.size(); ++i)
    waiting.emplace_back([&, i] {
      Place& place = *shared.places[i];
      while (place.wait_for_events()) {
        std::vector<MemoryEvent> heard;
        place.drain(heard);
        woken[i] += static_cast<int>(heard.size());
      }
    });
  const auto all_reach = [&](int count) {
    for (const auto& each : woken)
      while (each < count) std::this_thread::yield();
  };
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(0, 1)});
  all_reach(1);
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(1, 2)});
  all_reach(2);
  shared.places[1]->stop_waiting();
  waiting[1].join();
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(2, 3)});
  while (woken[0] < 3 || woken[2] < 3) std::this_thread::yield();
  for (const std::size_t i : {0, 2}) {
    shared.places[i]->stop_waiting();
    waiting[i].join();
  }
}

/// What a place must know.
struct Model {
  bool open = false;              ///< it has a copy of the chunk
  std::set<std::size_t> invalid;  ///< pages that have been found written, or that others wrote
  std::vector<Span> unheard;      ///< events
  bool lost = false;

  void invalidate(std::size_t first, std::size_t last) {
    for (std::size_t page = first; page < last && open; ++page) invalid.insert(page);
  }
};

class RandomPlaces : public ::testing::TestWithParam<int> {
 protected:
  explicit RandomPlaces() : random_(static_cast<unsigned>(GetParam())) {
    auto owned = std::make_unique<PlayedTracker>();
    tracker_ = owned.get();
    ledger_ = std::make_unique<Ledger>(std::move(owned), Ledger::Places::several);
    const std::size_t count = 1 + static_cast<std::size_t>(GetParam()) % 4;
    for (std::size_t i = 0; i < count; ++i) places_.push_back(std::make_unique<Place>(*ledger_));
    models_.resize(count);
    listener_ = std::make_unique<Place>(*ledger_);
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

  void step() {
    const std::size_t first = below(pages);
    const std::size_t last = first + 1 + below(std::min<std::size_t>(pages - first, 12));
    const std::size_t who = below(places_.size());
    Place& place = *places_[who];
    const Span span = span_of(first, last);
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        ASSERT_TRUE(tracker_->track(span));
        for (std::size_t page = first; page < last; ++page)
          if (tracked_.insert(page).second) written_.insert(page);
        break;
      case 3:
        place.wrote(span);
        for (Model& each : models_)
          if (&each != &models_[who]) each.invalidate(first, last);
        break;
      case 4: unmap(first, last); break;
      case 5: hear(place, models_[who]); break;
      case 6:
        if (models_[who].open && below(4) == 0) {
          place.close(0);
          models_[who].open = false;
          models_[who].invalid.clear();
        } else {
          place.open(0, 0);
          models_[who].open = true;
        }
        break;
      case 7:
      case 8:
      case 9:
      case 10:
        tracker_->write(span);
        for (std::size_t page = first; page < last; ++page)
          if (tracked_.contains(page)) written_.insert(page);
        break;
      default: scan(who, first, last, below(2) == 0);
    }
  }

  void unmap(std::size_t first, std::size_t last) {
    tracker_->happen({MemoryEvent::Kind::unmapped, span_of(first, last)});
    for (std::size_t page = first; page < last; ++page) {
      tracked_.erase(page);
      written_.erase(page);
    }
    for (Model& each : models_) {
      each.unheard.push_back(span_of(first, last));
      each.invalidate(first, last);
    }
    listen();
  }

  /// From here on, the ledger knows of all events.
  void listen() {
    std::vector<MemoryEvent> events;
    listener_->drain(events);
  }

  void hear(Place& place, Model& model) {
    if (below(8) == 0) {
      tracker_->lose_events();
      for (Model& each : models_) {
        each.lost = true;
        each.unheard.clear();
        each.invalidate(0, pages);
      }
      listen();
    }
    std::vector<MemoryEvent> events;
    const bool lost = std::exchange(model.lost, false);
    ASSERT_EQ(place.drain(events), !lost);
    if (lost) model.unheard.clear();
    ASSERT_EQ(events.size(), model.unheard.size());
    for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].span, model.unheard[i]);
    model.unheard.clear();
  }

  void scan(std::size_t who, std::size_t first, std::size_t last, bool protect) {
    const Span before = {0, 1};
    std::vector<Span> runs = {before};
    bool intact = true;
    for (std::size_t page = first; page < last; ++page) intact = intact && tracked_.contains(page);
    ASSERT_EQ(places_[who]->scan(span_of(first, last), protect, runs), intact);
    ASSERT_EQ(runs.at(0), before);
    runs.erase(runs.begin());
    if (!intact) {
      ASSERT_THAT(runs, IsEmpty());
      for (Model& each : models_) each.invalidate(first, last);
      for (std::size_t page = first; page < last && tracked_.contains(page) && protect; ++page) written_.erase(page);
      return;
    }
    std::vector<Span> expected;
    for (std::size_t page = first; page < last; ++page) {
      if (!written_.contains(page) && !models_[who].invalid.contains(page)) continue;
      if (!expected.empty() && expected.back().end == span_of(page, page).begin)
        expected.back().end = span_of(page, page + 1).end;
      else
        expected.push_back(span_of(page, page + 1));
    }
    ASSERT_EQ(runs, expected);
    for (std::size_t page = first; page < last && protect; ++page) {
      if (written_.erase(page) == 0) continue;
      for (Model& each : models_) each.invalidate(page, page + 1);
    }
    if (below(2) == 0) return;
    for (const Span run : runs) places_[who]->take(run);
    for (std::size_t page = first; page < last; ++page) models_[who].invalid.erase(page);
  }

  std::mt19937 random_;
  PlayedTracker* tracker_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<std::unique_ptr<Place>> places_;
  std::unique_ptr<Place> listener_;
  std::vector<Model> models_;
  std::set<std::size_t> tracked_;
  std::set<std::size_t> written_;  ///< of these, since somebody protected them
};

TEST_P(RandomPlaces, KnowWhatTheyMust) {
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    SCOPED_TRACE(i);
    step();
  }
}

INSTANTIATE_TEST_SUITE_P(, RandomPlaces, ::testing::Range(0, 24));

// A number on each page, and a copy of each for every place. A place that finds a page written copies it anew. A
// place that writes a page without a trace says so. So a copy of a page that a scan does not report is as new as the
// last write that had ended before, and when all is still, every copy is current after one more scan.
TEST(Ledger, LosesNoWriteBetweenThreads) {
  constexpr std::size_t threads = 3;
  constexpr int rounds = 4000;
  Shared shared(threads);
  std::array<std::atomic<int>, pages> memory{};
  std::array<std::atomic<int>, pages> ended{};  ///< the last write that the tracker or the ledger knows
  std::array<std::array<int, pages>, threads> copies{};
  const auto refresh = [&](std::size_t who, Span span) {
    std::vector<Span> runs;
    EXPECT_TRUE(shared.places[who]->scan(span, true, runs));
    for (const Span run : runs) shared.places[who]->take(run);
    for (const Span run : runs)
      for (std::size_t page = run.begin / platform::page_size(); page < run.end / platform::page_size(); ++page)
        copies.at(who).at(page) = memory.at(page);
  };
  std::vector<std::thread> running;
  for (std::size_t who = 0; who < threads; ++who)
    running.emplace_back([&, who] {
      std::mt19937 random(static_cast<unsigned>(who));
      for (int round = 0; round < rounds; ++round) {
        // Each page is written by one thread only; it is read by all.
        const std::size_t page = random() % (pages / threads) * threads + who;
        const std::size_t first = random() % pages;
        switch (random() % 4) {
          case 0:
            memory.at(page) = round;
            shared.tracker->write(span_of(page, page + 1));
            ended.at(page) = round;
            break;
          case 1:
            refresh(who, span_of(page, page + 1));
            memory.at(page) = round;
            copies.at(who).at(page) = round;
            shared.places[who]->wrote(span_of(page, page + 1));
            ended.at(page) = round;
            break;
          case 2: {
            std::array<int, pages> before{};
            std::copy(ended.begin(), ended.end(), before.begin());
            std::vector<Span> runs;
            EXPECT_TRUE(shared.places[who]->scan(span_of(0, pages), false, runs));
            for (std::size_t other = 0; other < pages; ++other) {
              const bool reported =
                  std::ranges::any_of(runs, [&](Span run) { return run.contains(span_of(other, other + 1)); });
              EXPECT_TRUE(reported || copies.at(who).at(other) >= before.at(other)) << other;
            }
            for (const Span run : runs) refresh(who, run);
            break;
          }
          default: refresh(who, span_of(first, std::min(first + 8, pages)));
        }
      }
    });
  for (auto& each : running) each.join();
  for (std::size_t who = 0; who < threads; ++who) {
    refresh(who, span_of(0, pages));
    for (std::size_t page = 0; page < pages; ++page) EXPECT_EQ(copies.at(who).at(page), memory.at(page));
  }
}

}  // namespace
}  // namespace blastoff::ledger
