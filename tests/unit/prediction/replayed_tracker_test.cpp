// A page tracker that hears of writes from a trace keeps the contract of the kernel's.
#include "prediction/replayed_tracker.h"

#include <gtest/gtest.h>

namespace blastoff::prediction {
namespace {

using platform::Span;
using Scan = tracking::PageTracker::Scan;

constexpr std::uintptr_t page = 4096;

Span pages(std::uintptr_t first, std::uintptr_t count) {
  return {(100 + first) * page, (100 + first + count) * page};
}

std::vector<Span> written(ReplayedTracker& tracker, Span span, bool protect) {
  std::vector<Span> found;
  EXPECT_EQ(tracker.scan(span, protect, found), Scan::ok);
  return found;
}

TEST(ReplayedTracker, BeginsWithAllPagesWritten) {
  ReplayedTracker tracker;
  std::vector<Span> found;
  EXPECT_EQ(tracker.scan(pages(0, 4), true, found), Scan::not_tracked);
  ASSERT_TRUE(tracker.track(pages(0, 10)));
  EXPECT_EQ(written(tracker, pages(0, 4), true), std::vector{pages(0, 4)});
  EXPECT_EQ(written(tracker, pages(0, 10), false), std::vector{pages(4, 6)});
}

TEST(ReplayedTracker, TellsWhatWasWrittenSince) {
  ReplayedTracker tracker;
  ASSERT_TRUE(tracker.track(pages(0, 10)));
  written(tracker, pages(0, 10), true);
  tracker.replay_write(pages(2, 1));
  tracker.replay_write(pages(5, 2));
  const std::vector<Span> expected{pages(2, 1), pages(5, 2)};
  EXPECT_EQ(written(tracker, pages(0, 10), false), expected);
  EXPECT_EQ(written(tracker, pages(0, 10), true), expected);
  EXPECT_TRUE(written(tracker, pages(0, 10), true).empty());
  tracker.unprotect(pages(9, 1));
  EXPECT_EQ(written(tracker, pages(0, 10), true), std::vector{pages(9, 1)});
}

TEST(ReplayedTracker, TellsOfMemoryThatIsLost) {
  ReplayedTracker tracker;
  ASSERT_TRUE(tracker.track(pages(0, 10)));
  tracker.lose(pages(3, 2));
  std::vector<tracking::MemoryEvent> events;
  EXPECT_TRUE(tracker.drain(events));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].span, pages(3, 2));
  std::vector<Span> found;
  EXPECT_EQ(tracker.scan(pages(0, 10), true, found), Scan::not_tracked);
}

TEST(ReplayedTracker, KnowsWhichPagesComeToBe) {
  ReplayedTracker tracker;
  EXPECT_EQ(tracker.new_bytes(pages(0, 10)), 0U);
  tracker.lose(pages(0, 8));
  EXPECT_EQ(tracker.new_bytes(pages(0, 10)), 8 * page);
  tracker.replay_write(pages(0, 2));
  tracker.replay_presence(pages(4, 1));
  EXPECT_EQ(tracker.new_bytes(pages(0, 10)), 5 * page);
}

TEST(ReplayedTracker, RefusesWhatTheKernelRefused) {
  ReplayedTracker tracker;
  tracker.refuse(pages(4, 1), "shared memory");
  EXPECT_EQ(tracker.track(pages(0, 10)).error(), "shared memory");
  EXPECT_TRUE(tracker.track(pages(5, 5)));
}

TEST(ReplayedTracker, FingerprintsChangeWithWrites) {
  ReplayedTracker tracker;
  operation::Operand matrix{.address = reinterpret_cast<void*>(pages(0, 1).begin),
                            .rows = 512,
                            .columns = 4,
                            .leading_dimension = 512,
                            .element_size = 8};
  const auto before = tracker.fingerprint(matrix);
  tracker.replay_write(pages(4, 3));
  EXPECT_EQ(tracker.fingerprint(matrix), before) << "beside it";
  tracker.replay_write(pages(3, 4));
  const auto after = tracker.fingerprint(matrix);
  EXPECT_NE(after, before);
  tracker.replay_write(pages(5, 1));
  EXPECT_EQ(tracker.fingerprint(matrix), after);
}

}  // namespace
}  // namespace blastoff::prediction
