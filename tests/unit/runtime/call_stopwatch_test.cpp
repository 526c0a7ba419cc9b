#include "runtime/call_stopwatch.h"

#include <gtest/gtest.h>

namespace blastoff::runtime {
namespace {

/// A product that a routine of LAPACK makes, say, on a slow file system.
void log_some_lines() {
  report::Record record;
  record.symbol = "dgemm_";
  for (int line = 0; line < 200; ++line) report::log_call(record, nullptr);
}

TEST(CallStopwatch, LinesOfCallsInsideDoNotCount) {
  report::log_calls({.file = "/dev/null", .start = std::chrono::steady_clock::now()});
  const platform::Stopwatch all;
  const double logged_before = report::seconds_of_logging();
  const CallStopwatch stopwatch;
  log_some_lines();
  const double logged = report::seconds_of_logging() - logged_before;
  EXPECT_GT(logged, 0);
  EXPECT_LE(stopwatch.seconds(), all.seconds() - logged);
}

TEST(CallStopwatch, CallsInsideAreNotOfTheCallItself) {
  const CallStopwatch stopwatch;
  report::add({.seconds = 0.25}, nullptr);
  report::add({.seconds = 0.5}, nullptr);
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
  EXPECT_EQ(report::most_seconds_ahead(), report::seconds_ahead());
  report::set_seconds_ahead(before);
}

}  // namespace
}  // namespace blastoff::runtime
