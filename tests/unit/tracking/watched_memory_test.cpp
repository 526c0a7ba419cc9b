#include "tracking/watched_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "played_tracker.h"

namespace blastoff::tracking {
namespace {

using platform::Span;
using test::span_of;

TEST(WatchedMemory, UnprotectsOnlyWhatAScanHasProtected) {
  test::PlayedTracker tracker;
  WatchedMemory memory(tracker);
  ASSERT_TRUE(tracker.track(span_of(0, 16)));
  std::vector<Span> before;
  std::vector<Span> faulted;
  ASSERT_EQ(tracker.scan(span_of(0, 16), true, before), PageTracker::Scan::ok);
  memory.note_protected(span_of(4, 8), {}, faulted);
  const auto unprotected = [&](Span span) {
    memory.unprotect(span);
    std::vector<Span> written;
    EXPECT_EQ(tracker.scan(span_of(0, 16), true, written), PageTracker::Scan::ok);
    return written;
  };
  EXPECT_THAT(unprotected(span_of(0, 4)), testing::IsEmpty());
  EXPECT_THAT(unprotected(span_of(0, 6)), testing::ElementsAre(span_of(4, 6)));
  EXPECT_THAT(unprotected(span_of(0, 16)), testing::ElementsAre(span_of(6, 8)));
  EXPECT_THAT(unprotected(span_of(0, 16)), testing::IsEmpty()) << "it is done once";
}

}  // namespace
}  // namespace blastoff::tracking
