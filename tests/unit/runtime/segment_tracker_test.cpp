// Memory that ranks share: what changes it is told, not seen.
#include "runtime/segment_tracker.h"

#include <gtest/gtest.h>

#include <thread>

namespace blastoff::runtime {
namespace {

using tracking::PageTracker;

constexpr std::uintptr_t page = 4096;
constexpr Span memory{16 * page, 32 * page};

class SegmentTrackerTest : public testing::Test {
 protected:
  SegmentTrackerTest() {
    EXPECT_TRUE(tracker_.track(memory));
    EXPECT_EQ(written(tracker_), std::vector<Span>{memory}) << "tracking begins with all pages written";
  }

  static std::vector<Span> written(SegmentTracker& tracker, bool protect = true) {
    std::vector<Span> runs;
    EXPECT_EQ(tracker.scan(memory, protect, runs), PageTracker::Scan::ok);
    return runs;
  }

  SegmentTracker tracker_;
};

TEST_F(SegmentTrackerTest, FindsWhatItWasToldOnce) {
  EXPECT_TRUE(written(tracker_).empty());
  SegmentTracker::changed({18 * page + 8, 18 * page + 16});
  const std::vector<Span> expected{{18 * page, 19 * page}};
  EXPECT_EQ(written(tracker_, false), expected);
  EXPECT_EQ(written(tracker_), expected);
  EXPECT_TRUE(written(tracker_).empty());
}

TEST_F(SegmentTrackerTest, HearsOfResultsOfOthersButNotOfItsOwn) {
  SegmentTracker other;
  ASSERT_TRUE(other.track(memory));
  written(other);
  operation::Operation operation;
  operation.add({.address = reinterpret_cast<void*>(20 * page),
                 .rows = page / sizeof(double),
                 .columns = 2,
                 .leading_dimension = page / sizeof(double),
                 .element_size = sizeof(double),
                 .intent = operation::Intent::update});
  operation.add({.address = reinterpret_cast<void*>(24 * page),
                 .rows = 8,
                 .columns = 8,
                 .leading_dimension = 8,
                 .element_size = sizeof(double)});
  SegmentTracker::results_changed(operation, &tracker_);
  EXPECT_TRUE(written(tracker_).empty());
  EXPECT_EQ(written(other), (std::vector<Span>{{20 * page, 22 * page}}));
}

TEST_F(SegmentTrackerTest, ForgetsMemoryThatEnds) {
  tracking::EventSource& events = tracker_.events();
  bool woken = false;
  std::thread waiting([&] { woken = events.wait_for_events(); });
  SegmentTracker::ended(memory);
  waiting.join();
  EXPECT_TRUE(woken);
  std::vector<tracking::MemoryEvent> heard;
  EXPECT_TRUE(events.drain(heard));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].span, memory);
  std::vector<Span> runs;
  EXPECT_EQ(tracker_.scan(memory, true, runs), PageTracker::Scan::not_tracked);
  events.stop_waiting();
  EXPECT_FALSE(events.wait_for_events());
}

}  // namespace
}  // namespace blastoff::runtime
