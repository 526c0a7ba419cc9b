// Several clients of one tracker against a model in which each client has a tracker of its own.
#include "tracking/directory.h"

#include <array>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "played_tracker.h"
#include "span_printing.h"

namespace blastoff::tracking {

namespace {

using test::PlayedTracker;
using test::span_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t pages = PlayedTracker::pages;

/// A directory over played pages, with clients that track all of them and have protected them.
struct Shared {
  explicit Shared(std::size_t count) {
    auto owned = std::make_unique<PlayedTracker>();
    tracker = owned.get();
    directory = std::make_unique<Directory>(std::move(owned));
    for (std::size_t i = 0; i < count; ++i) clients.push_back(directory->client());
    for (const auto& client : clients) EXPECT_TRUE(client->track(span_of(0, pages)));
    for (std::size_t i = 0; i < count; ++i) written(i);
  }

  /// What a protecting scan of all pages reports.
  std::vector<Span> written(std::size_t client) {
    std::vector<Span> runs;
    EXPECT_EQ(clients.at(client)->scan(span_of(0, pages), true, runs), PageTracker::Scan::ok);
    return runs;
  }

  PlayedTracker* tracker;
  std::unique_ptr<Directory> directory;
  std::vector<std::unique_ptr<PageTracker>> clients;
};

TEST(Directory, KeepsWhatOneClientConsumesForTheOthers) {
  Shared shared(3);
  shared.tracker->write(span_of(3, 5));
  EXPECT_THAT(shared.written(0), ElementsAre(span_of(3, 5)));
  EXPECT_THAT(shared.written(0), IsEmpty());
  shared.tracker->write(span_of(4, 6));
  EXPECT_THAT(shared.written(1), ElementsAre(span_of(3, 6)));
  EXPECT_THAT(shared.written(0), ElementsAre(span_of(4, 6)));
  EXPECT_THAT(shared.written(2), ElementsAre(span_of(3, 6)));
}

TEST(Directory, TellsTheOthersWhatADeviceWrote) {
  Shared shared(2);
  shared.clients[0]->wrote(span_of(7, 9));
  EXPECT_THAT(shared.written(0), IsEmpty());
  EXPECT_THAT(shared.written(1), ElementsAre(span_of(7, 9)));
  EXPECT_THAT(shared.written(1), IsEmpty());
}

TEST(Directory, CountsPagesAsWrittenForANewClient) {
  Shared shared(1);
  auto later = shared.directory->client();
  std::vector<Span> runs;
  EXPECT_EQ(later->scan(span_of(0, 4), false, runs), PageTracker::Scan::not_tracked);
  ASSERT_TRUE(later->track(span_of(0, 4)));
  EXPECT_EQ(later->scan(span_of(0, 4), false, runs), PageTracker::Scan::ok);
  EXPECT_THAT(runs, ElementsAre(span_of(0, 4)));
  EXPECT_THAT(shared.written(0), IsEmpty());
}

TEST(Directory, TracksAsLongAsAClientDoes) {
  Shared shared(2);
  shared.clients[0]->untrack(span_of(0, 8));
  EXPECT_TRUE(shared.tracker->tracks(0));
  shared.clients[1]->untrack(span_of(4, 8));
  EXPECT_TRUE(shared.tracker->tracks(3));
  EXPECT_FALSE(shared.tracker->tracks(4));
  shared.clients.pop_back();
  EXPECT_FALSE(shared.tracker->tracks(3));
  EXPECT_TRUE(shared.tracker->tracks(8));
}

// A scan that finds its memory replaced may have consumed pages in front of that.
TEST(Directory, ForgetsWhatABrokenScanMayHaveConsumed) {
  Shared shared(2);
  shared.tracker->write(span_of(1, 2));
  shared.tracker->untrack(span_of(5, 6));  // as if replaced, with the event still on its way
  std::vector<Span> runs;
  EXPECT_EQ(shared.clients[0]->scan(span_of(0, 8), true, runs), PageTracker::Scan::not_tracked);
  EXPECT_THAT(runs, IsEmpty());
  EXPECT_EQ(shared.clients[1]->scan(span_of(0, 4), true, runs), PageTracker::Scan::not_tracked);
  for (const auto& client : shared.clients) {
    runs.clear();
    ASSERT_TRUE(client->track(span_of(0, 8)));
    EXPECT_EQ(client->scan(span_of(0, 8), true, runs), PageTracker::Scan::ok);
    EXPECT_THAT(runs, ElementsAre(span_of(0, 8)));
  }
}

// The addresses are those of new memory before anybody has heard that the old memory went away.
TEST(Directory, TracksMemoryThatCameBeforeTheEventWasHeard) {
  Shared shared(2);
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(0, 4)});
  ASSERT_TRUE(shared.clients[0]->track(span_of(0, 4)));
  for (const auto& client : shared.clients) {
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(client->events().drain(events));
    EXPECT_EQ(events.size(), 1U);
  }
  std::vector<Span> runs;
  EXPECT_EQ(shared.clients[0]->scan(span_of(0, 4), true, runs), PageTracker::Scan::ok);
  EXPECT_EQ(shared.clients[1]->scan(span_of(0, 4), true, runs), PageTracker::Scan::not_tracked);
}

TEST(Directory, HandsEventsToEveryClient) {
  Shared shared(2);
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(2, 4)});
  shared.tracker->happen({MemoryEvent::Kind::dropped, span_of(8, 9)});
  for (const auto& client : shared.clients) {
    std::vector<MemoryEvent> events;
    EXPECT_TRUE(client->events().drain(events));
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].span, span_of(2, 4));
    EXPECT_EQ(events[1].kind, MemoryEvent::Kind::dropped);
    std::vector<Span> runs;
    EXPECT_EQ(client->scan(span_of(0, 4), true, runs), PageTracker::Scan::not_tracked);
    EXPECT_EQ(client->scan(span_of(8, 9), true, runs), PageTracker::Scan::ok);
  }
}

TEST(Directory, TellsEveryClientOnceThatEventsWereLost) {
  Shared shared(2);
  shared.tracker->lose_events();
  for (const auto& client : shared.clients) {
    std::vector<MemoryEvent> events;
    EXPECT_FALSE(client->events().drain(events));
    EXPECT_TRUE(client->events().drain(events));
    std::vector<Span> runs;
    EXPECT_EQ(client->scan(span_of(0, 1), true, runs), PageTracker::Scan::not_tracked);
  }
}

// Every client has a thread that waits; whoever drains, all wake, and each can be released alone.
TEST(Directory, WakesEveryClientThatWaits) {
  Shared shared(3);
  std::array<std::atomic<int>, 3> woken{};
  std::vector<std::thread> waiting;
  for (std::size_t i = 0; i < woken.size(); ++i)
    waiting.emplace_back([&, i] {
      EventSource& events = shared.clients[i]->events();
      while (events.wait_for_events()) {
        std::vector<MemoryEvent> heard;
        events.drain(heard);
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
  shared.clients[1]->events().stop_waiting();
  waiting[1].join();
  shared.tracker->happen({MemoryEvent::Kind::unmapped, span_of(2, 3)});
  while (woken[0] < 3 || woken[2] < 3) std::this_thread::yield();
  for (const std::size_t i : {0, 2}) {
    shared.clients[i]->events().stop_waiting();
    waiting[i].join();
  }
}

/// What a client would know if it had a tracker of its own.
struct Model {
  std::set<std::size_t> tracked;
  std::set<std::size_t> written;  ///< of these
  std::vector<Span> unheard;      ///< events
  bool lost = false;

  bool tracks(std::size_t first, std::size_t last) const {
    for (std::size_t page = first; page < last; ++page)
      if (!tracked.contains(page)) return false;
    return true;
  }
  void write(std::size_t first, std::size_t last) {
    for (std::size_t page = first; page < last; ++page)
      if (tracked.contains(page)) written.insert(page);
  }
  void forget(std::size_t first, std::size_t last) {
    for (std::size_t page = first; page < last; ++page) {
      tracked.erase(page);
      written.erase(page);
    }
  }
  std::vector<Span> runs(std::size_t first, std::size_t last) const {
    std::vector<Span> result;
    for (const std::size_t page : written) {
      if (page < first || page >= last) continue;
      if (!result.empty() && result.back().end == span_of(page, page).begin)
        result.back().end = span_of(page, page + 1).end;
      else
        result.push_back(span_of(page, page + 1));
    }
    return result;
  }
};

class RandomClients : public ::testing::TestWithParam<int> {
 protected:
  explicit RandomClients() : random_(static_cast<unsigned>(GetParam())) {
    auto owned = std::make_unique<PlayedTracker>();
    tracker_ = owned.get();
    directory_ = std::make_unique<Directory>(std::move(owned));
    const std::size_t count = 1 + static_cast<std::size_t>(GetParam()) % 4;
    for (std::size_t i = 0; i < count; ++i) clients_.push_back(directory_->client());
    models_.resize(count);
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

  void step() {
    std::size_t first = below(pages);
    std::size_t last = first + 1 + below(std::min<std::size_t>(pages - first, 12));
    const std::size_t who = below(clients_.size());
    PageTracker& client = *clients_[who];
    Model& model = models_[who];
    const Span span = span_of(first, last);
    switch (below(16)) {
      case 0:
      case 1:
        ASSERT_TRUE(client.track(span));
        for (std::size_t page = first; page < last; ++page)
          if (model.tracked.insert(page).second) model.written.insert(page);
        break;
      case 2:
        client.untrack(span);
        model.forget(first, last);
        break;
      case 3:
        client.wrote(span);
        for (Model& each : models_)
          if (&each != &model) each.write(first, last);
        break;
      case 4:
        client.unprotect(span);
        for (Model& each : models_) each.write(first, last);
        break;
      case 5: unmap(first, last); break;
      case 6: hear(client, model); break;
      case 7:
      case 8:
      case 9:
      case 10:
        tracker_->write(span);
        for (Model& each : models_) each.write(first, last);
        break;
      default: scan(client, model, first, last, below(2) == 0);
    }
  }

  // The event arrives before the memory is used again, as where the client looks for events before each scan.
  void unmap(std::size_t first, std::size_t last) {
    tracker_->happen({MemoryEvent::Kind::unmapped, span_of(first, last)});
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      models_[i].forget(first, last);
      models_[i].unheard.push_back(span_of(first, last));
    }
    hear(*clients_[0], models_[0]);
  }

  void hear(PageTracker& client, Model& model) {
    if (below(8) == 0) {
      tracker_->lose_events();
      for (Model& each : models_) {
        each.forget(0, pages);
        each.lost = true;
      }
    }
    std::vector<MemoryEvent> events;
    const bool lost = std::exchange(model.lost, false);
    ASSERT_EQ(client.events().drain(events), !lost);
    if (lost) model.unheard.clear();
    ASSERT_EQ(events.size(), model.unheard.size());
    for (std::size_t i = 0; i < events.size(); ++i) ASSERT_EQ(events[i].span, model.unheard[i]);
    model.unheard.clear();
  }

  void scan(PageTracker& client, Model& model, std::size_t first, std::size_t last, bool protect) {
    const Span before = {0, 1};
    std::vector<Span> runs = {before};
    const auto found = client.scan(span_of(first, last), protect, runs);
    ASSERT_EQ(runs.at(0), before);
    runs.erase(runs.begin());
    ASSERT_EQ(found == PageTracker::Scan::ok, model.tracks(first, last));
    if (found != PageTracker::Scan::ok) {
      ASSERT_THAT(runs, IsEmpty());
      return;
    }
    ASSERT_EQ(runs, model.runs(first, last));
    if (!protect) return;
    for (std::size_t page = first; page < last; ++page) model.written.erase(page);
  }

  std::mt19937 random_;
  PlayedTracker* tracker_;
  std::unique_ptr<Directory> directory_;
  std::vector<std::unique_ptr<PageTracker>> clients_;
  std::vector<Model> models_;
};

TEST_P(RandomClients, EachIsAsIfAlone) {
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) {
    SCOPED_TRACE(i);
    step();
  }
  for (std::size_t page = 0; page < pages; ++page) {
    const bool any = std::ranges::any_of(models_, [&](const Model& model) { return model.tracked.contains(page); });
    ASSERT_TRUE(tracker_->tracks(page) || !any) << page;
  }
}

INSTANTIATE_TEST_SUITE_P(, RandomClients, ::testing::Range(0, 24));

// A number on each page, and a copy of each for every client. A client that finds a page written copies it anew. A
// client that writes a page without a trace says so. So when all is still, every copy is current after one more scan.
TEST(Directory, LosesNoWriteBetweenThreads) {
  constexpr std::size_t threads = 3;
  constexpr int rounds = 4000;
  Shared shared(threads);
  std::array<std::atomic<int>, pages> memory{};
  std::array<std::array<int, pages>, threads> copies{};
  const auto refresh = [&](std::size_t who, Span span) {
    std::vector<Span> runs;
    EXPECT_EQ(shared.clients[who]->scan(span, true, runs), PageTracker::Scan::ok);
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
            break;
          case 1:
            refresh(who, span_of(page, page + 1));
            memory.at(page) = round;
            copies.at(who).at(page) = round;
            shared.clients[who]->wrote(span_of(page, page + 1));
            break;
          case 2: {
            std::vector<Span> runs;
            EXPECT_EQ(shared.clients[who]->scan(span_of(0, pages), false, runs), PageTracker::Scan::ok);
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
}  // namespace blastoff::tracking
