// A page tracker that gets the writes from a trace keeps the contract of a tracker that uses the kernel.
#include "prediction/replayed_tracker.h"

#include <utility>

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

TEST(ReplayedTracker, FingerprintsChangeWhenTheMatrixIsRewritten) {
  ReplayedTracker tracker;
  const operation::Operand matrix{.address = reinterpret_cast<void*>(pages(0, 1).begin + 64),
                                  .rows = 512,
                                  .columns = 64,
                                  .leading_dimension = 512,
                                  .element_size = 8};
  const auto before = tracker.fingerprint(matrix);
  tracker.replay_write(pages(0, 1));
  tracker.replay_write(pages(64, 4));
  EXPECT_EQ(tracker.fingerprint(matrix), before) << "pages on which other data lie, too";
  std::uint64_t last = before;
  int seen = 0;
  for (std::uintptr_t page_number = 1; page_number < 64; ++page_number) {
    tracker.replay_write(pages(page_number, 1));
    seen += std::exchange(last, tracker.fingerprint(matrix)) != last ? 1 : 0;
  }
  EXPECT_EQ(seen, 8) << "a single page is likely to be missed";
  tracker.replay_write(pages(0, 65));
  EXPECT_NE(tracker.fingerprint(matrix), last);
}

TEST(ReplayedTracker, FingerprintsOfSmallMatricesAndOfColumnsFarApart) {
  ReplayedTracker tracker;
  operation::Operand matrix{.address = reinterpret_cast<void*>(pages(0, 1).begin),
                            .rows = 4,
                            .columns = 4,
                            .leading_dimension = 4,
                            .element_size = 8};
  const auto small = tracker.fingerprint(matrix);
  matrix.rows = 512, matrix.columns = 16, matrix.leading_dimension = 2048;
  const auto large = tracker.fingerprint(matrix);
  for (std::uintptr_t column = 0; column < 16; ++column) tracker.replay_write(pages(4 * column + 1, 3));
  EXPECT_EQ(tracker.fingerprint(matrix), large) << "between the columns";
  for (std::uintptr_t column = 0; column < 16; ++column) tracker.replay_write(pages(4 * column, 1));
  EXPECT_NE(tracker.fingerprint(matrix), large);
  matrix.rows = matrix.columns = matrix.leading_dimension = 4;
  EXPECT_NE(tracker.fingerprint(matrix), small);
}

}  // namespace
}  // namespace blastoff::prediction
