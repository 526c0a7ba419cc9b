#include "report/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "report/recorder.h"

namespace blastoff::report {
namespace {

Record record_of(double seconds) {
  Record record;
  record.seconds = seconds;
  record.traffic.transfer_seconds = seconds / 4;
  record.volume = 27;
  return record;
}

class TimelineTest : public testing::Test {
 protected:
  void TearDown() override { forget_timeline(); }
};

TEST_F(TimelineTest, HoldsNothingUnlessAsked) {
  EXPECT_FALSE(belongs_to_timeline(1e9));
  EXPECT_TRUE(timeline().calls.empty());
}

TEST_F(TimelineTest, HoldsTheLongestCallsInTheirOrder) {
  keep_timeline(8, std::chrono::steady_clock::now() - std::chrono::seconds(100));
  for (int i = 1; i <= 20; ++i)
    if (belongs_to_timeline(i % 2 == 0 ? i : 0.5)) add_to_timeline(record_of(i % 2 == 0 ? i : 0.5));
  const Timeline kept = timeline();
  EXPECT_LE(kept.calls.size(), 8U);
  EXPECT_GE(kept.calls.size(), 4U);
  EXPECT_GT(kept.shortest, 0);
  EXPECT_TRUE(std::ranges::is_sorted(kept.calls, {}, &TimedCall::start));
  for (const TimedCall& call : kept.calls) {
    EXPECT_GE(call.seconds, kept.shortest);
    EXPECT_EQ(call.transfer_seconds, call.seconds / 4);
    EXPECT_NEAR(call.start, 100 - call.seconds, 20);
    EXPECT_TRUE(call.on_device);
  }
  for (const double longest : {16.0, 18.0, 20.0})
    EXPECT_EQ(std::ranges::count(kept.calls, longest, &TimedCall::seconds), 1);
}

}  // namespace
}  // namespace blastoff::report
