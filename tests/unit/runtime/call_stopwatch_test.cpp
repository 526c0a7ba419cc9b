#include "runtime/call_stopwatch.h"

#include <gtest/gtest.h>

#include "report/wall_time.h"

namespace blastoff::runtime {
namespace {

/// Writes log lines to a slow file system, as a product within a LAPACK routine might.
void log_some_lines() {
  report::Record record;
  record.symbol = "dgemm_";
  for (int line = 0; line < 200; ++line) report::log_call(record, nullptr);
}

TEST(CallStopwatch, LinesOfCallsInsideDoNotCount) {
  report::log_calls({.file = "/dev/null", .start = std::chrono::steady_clock::now()});
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const platform::Stopwatch all;
  const double logged_before = report::seconds_of_logging();
  const CallStopwatch stopwatch;
  log_some_lines();
  const double logged = report::seconds_of_logging() - logged_before;
  EXPECT_GT(logged, 0);
  constexpr double rounding = 1e-6;
  EXPECT_LE(stopwatch.seconds(), all.seconds() - logged + rounding);
  const report::CallTime time = report::end_call(begin);
  EXPECT_LE(time.wall, time.elapsed - logged + rounding);
  EXPECT_TRUE(time.whole);
}

TEST(CallStopwatch, LinesCountOnceHoweverDeepTheyAre) {
  const report::CallBegin outer = report::begin_call(__builtin_frame_address(0));
  const report::CallBegin inner = report::begin_call(static_cast<const char*>(__builtin_frame_address(0)) - 1);
  log_some_lines();
  const report::CallTime inside = report::end_call(inner);
  const report::CallTime whole = report::end_call(outer);
  EXPECT_GE(whole.wall, whole.elapsed - inside.elapsed - 1e-6);
}

TEST(CallStopwatch, CallsInsideAreNotOfTheCallItself) {
  const CallStopwatch stopwatch;
  report::add({.seconds = 0.25});
  report::add({.seconds = 0.5});
  EXPECT_EQ(stopwatch.inside(), 0.75);
  EXPECT_EQ(stopwatch.own(1), 0.25);
}

TEST(CallStopwatch, AClockOfADevicesOwnGoesOnByWhatCallsTook) {
  const double before = report::seconds_ahead();
  const CallStopwatch outer;
  const CallStopwatch inner;
  inner.took(2);
  EXPECT_NEAR(report::seconds_ahead() - before, 2 - inner.seconds(), 1e-3);
  outer.took(5);
  EXPECT_NEAR(report::seconds_ahead() - before, 5 - outer.seconds(), 1e-3) << "the inner call is part of it";
  EXPECT_EQ(report::max_seconds_ahead(), report::seconds_ahead());
  report::set_seconds_ahead(before);
}

}  // namespace
}  // namespace blastoff::runtime
