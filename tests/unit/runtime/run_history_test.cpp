// The data that one run records for the next.
#include "runtime/run_history.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "child.h"
#include "temporary_folder.h"

namespace blastoff::runtime {
namespace {

namespace fs = std::filesystem;
using Foresight = OpenPolicy::Foresight;

constexpr OpeningPrice price{.own = 0.25, .job = 0.25};

/// Totals of calls on the device; the CPU's time for them is known if it is not 0.
report::Totals totals_of(double flops, double device_seconds, double expected_cpu_seconds) {
  report::Totals totals;
  totals.routines.resize(3);
  totals.routines[1].offloaded_flops = flops;
  totals.routines[1].flops = flops;
  totals.routines[1].device_seconds = device_seconds;
  totals.routines[2].expected_cpu_seconds = expected_cpu_seconds;
  if (expected_cpu_seconds > 0) totals.routines[2].judged_seconds = device_seconds;
  return totals;
}

report::Context context_of(double opening, double whole, bool foreseen = true) {
  report::Context context;
  context.elapsed_seconds = whole;
  if (opening > 0) context.device_opening = report::DeviceOpening{.seconds = opening, .foreseen = foreseen};
  return context;
}

TEST(RunTimes, WhatTheCpuComputedCountsAsTheDeviceIsExpectedToTake) {
  const SpentOnCpu before{.seconds = 0.2, .flops = 1e11, .on_device = 0.01};
  const RunTimes run = times_of_run(before, totals_of(3e11, 0.03, 0.6), context_of(0.24, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(run.flops, 4e11);
  EXPECT_DOUBLE_EQ(run.cpu, 0.8);
  EXPECT_DOUBLE_EQ(run.device, 0.04);
  EXPECT_DOUBLE_EQ(run.opening, 0.24);
}

TEST(RunTimes, AreWallTimeWhereThreadsCallAtOnce) {
  report::Totals totals = totals_of(2e11, 0.5, 3);
  totals.routines[1].cpu_seconds = 0.7;
  totals.routines[1].wall_seconds = 0.25;
  totals.small_seconds = 0.2;  // part of cpu_seconds, not of wall_seconds
  const RunTimes run =
      times_of_run({.seconds = 0.1, .flops = 1e11, .on_device = 0.02}, totals, context_of(0.24, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(run.cpu, 0.1 + 3 * 0.25);
  EXPECT_DOUBLE_EQ(run.device, 0.02 + 0.5 * 0.25);
}

TEST(RunTimes, OfRanksMustGainWhatTheWholeJobPays) {
  constexpr OpeningPrice of_ranks{.own = 0.25, .job = 2};
  RunTimes run{.flops = 1e11, .cpu = 2, .device = 1, .opening = 0.25};
  const auto foreseen = [&] { return foresight(run, of_ranks); };
  EXPECT_EQ(foreseen(), Foresight::loses);
  run.lead = 0.3;
  EXPECT_EQ(foreseen(), Foresight::loses) << "one opening was hidden, but not those of all ranks";
  run.lead = 1.6;
  EXPECT_EQ(foreseen(), Foresight::gains) << "most openings were";
  run.lead = 0;
  run.cpu = 4;
  run.with_device.seconds = 5;
  EXPECT_EQ(foreseen(), Foresight::loses) << "a run without the device is to be seen first";
  run.without_device.seconds = 4;
  EXPECT_EQ(foreseen(), Foresight::loses);
  run.without_device.seconds = 6;
  EXPECT_EQ(foreseen(), Foresight::gains);
  run.without_device.seconds = 0;
  run.cpu = 6;
  EXPECT_EQ(foreseen(), Foresight::gains) << "a run without the device would lose much";
  run.without_device.seconds = 4;
  EXPECT_EQ(foreseen(), Foresight::loses);
  run.cpu = 10;
  EXPECT_EQ(foreseen(), Foresight::gains) << "beyond doubt";
}

TEST(RunTimes, OfARunWithoutTheDeviceAreTheCpus) {
  const SpentOnCpu all{.seconds = 0.2, .flops = 1e11, .on_device = 0.05};
  const RunTimes run = times_of_run(all, totals_of(0, 0, 0), context_of(0, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(run.cpu, 0.2);
  EXPECT_DOUBLE_EQ(run.device, 0.05);
  EXPECT_EQ(foresight(run, price), Foresight::loses);
}

TEST(RunTimes, AreThoseOfTheEarlierRunWhereThisOneHasNotTimedTheCpu) {
  const RunTimes earlier{.flops = 1e11, .cpu = 1, .device = 0.1, .opening = 0.2};
  const RunTimes run = times_of_run({}, totals_of(2e11, 0.3, 0), context_of(0.25, 1), earlier);
  EXPECT_DOUBLE_EQ(run.cpu, 2);
  EXPECT_DOUBLE_EQ(run.device, 0.3);
  EXPECT_DOUBLE_EQ(run.opening, 0.25);
  EXPECT_TRUE(run.carried_over);
  EXPECT_DOUBLE_EQ(times_of_run({}, totals_of(2e11, 0.3, 0.5), context_of(0.25, 1), earlier).cpu, 2)
      << "to expect is not to time";
  EXPECT_DOUBLE_EQ(times_of_run({}, totals_of(2e11, 0.3, 0.5), context_of(0.25, 1), std::nullopt).cpu, 0.5)
      << "but better than nothing";
  EXPECT_DOUBLE_EQ(
      times_of_run({.seconds = 0.9, .flops = 1.5e11}, totals_of(5e10, 0.1, 0.3), context_of(0.25, 1), earlier).cpu,
      1.2);
}

TEST(RunTimes, AreThoseOfTheEarlierRunWhereThisOneHasNotOpenedTheDevice) {
  const RunTimes earlier{.flops = 1e11, .cpu = 1, .device = 0.9, .opening = 0.2};
  const RunTimes run = times_of_run({.seconds = 3, .flops = 2e11}, totals_of(0, 0, 0), context_of(0, 1), earlier);
  EXPECT_DOUBLE_EQ(run.cpu, 3);
  EXPECT_DOUBLE_EQ(run.device, 1.8);
  EXPECT_DOUBLE_EQ(run.opening, 0.2);
}

TEST(RunTimes, OfPartsCountForTheWhole) {
  report::Totals totals = totals_of(3e11, 0.3, 1);
  totals.routines[2].judged_seconds = 0.2;
  const RunTimes run = times_of_run({.seconds = 0.5, .flops = 1e11}, totals, context_of(0.2, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(run.cpu, 1.5 * 4 / 3) << "of a third of what the device computed, the CPU's time is not known";
}

TEST(RunTimes, TellWhetherTheDeviceGainsMoreThanOpeningTakes) {
  const auto with_gain = [](double seconds, double opening, bool opened_at_once = false) {
    return foresight(
        {.flops = 1e11, .cpu = 1 + seconds, .device = 1, .opening = opening, .opened_at_once = opened_at_once}, price);
  };
  EXPECT_EQ(with_gain(-0.5, 0.2), Foresight::loses);
  EXPECT_EQ(with_gain(0.24, 0.2), Foresight::loses);
  EXPECT_EQ(with_gain(0.27, 0.2), Foresight::loses) << "not clearly";
  EXPECT_EQ(with_gain(0.27, 0.2, true), Foresight::gains) << "as it has";
  EXPECT_EQ(with_gain(0.24, 0.2, true), Foresight::loses);
  EXPECT_EQ(with_gain(0.35, 0.2), Foresight::gains);
  EXPECT_EQ(with_gain(0.35, 0.4), Foresight::loses) << "it took longer than the model says";
}

TEST(RunTimes, OfCallsThatOneRankMakesForAllCountAgainstOneOpening) {
  constexpr OpeningPrice of_job{.own = 0.2, .job = 1.6};
  RunTimes run{.flops = 1e11, .cpu = 2, .device = 1, .opening = 0.2};
  EXPECT_EQ(foresight(run, of_job), Foresight::loses);
  run.for_all = true;
  EXPECT_EQ(foresight(run, of_job), Foresight::gains);
}

TEST(RunTimes, TellThatWhatComesBeforeTheFirstCallHidesTheOpening) {
  const auto with_lead = [](double gain, double lead) {
    const RunTimes run{.flops = 1e11, .cpu = 1 + gain, .device = 1, .opening = 0.2, .lead = lead};
    return std::pair(foresight(run, price), opens_ahead(run, price));
  };
  const std::pair loses(Foresight::loses, false);
  const std::pair gains_ahead(Foresight::gains, true);
  EXPECT_EQ(with_lead(0.35, 0), std::pair(Foresight::gains, false));
  EXPECT_EQ(with_lead(0.35, 0.01), gains_ahead);
  EXPECT_EQ(with_lead(0.14, 0.05), loses);
  EXPECT_EQ(with_lead(0.14, 0.15), gains_ahead);
  EXPECT_EQ(with_lead(0.06, 1), loses) << "a quarter is paid in any case";
  EXPECT_EQ(with_lead(0.09, 1), gains_ahead);
  EXPECT_EQ(with_lead(0.09, 6), loses) << "a device is not held for so long before its use";
  EXPECT_EQ(with_lead(0.35, 6), std::pair(Foresight::gains, false));
}

/// Runs of a command, one after the other. On the CPU, its calls take 1 s of 3.
class WholeRuns {
 public:
  static constexpr double flops = 1e11;

  void on_cpu(double seconds, double in_calls = 1) {
    on_cpu_ = mean_with(on_cpu_, {.flops = flops, .seconds = seconds, .in_calls = in_calls, .runs = 1});
  }
  /// A run that opens the device at once, if it is `foreseen`, or after half a second of calls on the CPU. Calls tell
  /// of a gain of 0.9 s.
  void with_device(double seconds, double in_calls, bool foreseen = true, double work = flops) {
    report::Totals totals = totals_of(work, 0.1, 0);
    totals.routines[1].wall_seconds = in_calls;
    report::Context context = context_of(0.3, seconds, foreseen);
    if (on_cpu_.runs > 0) context.cpu_run = on_cpu_;
    const SpentOnCpu before =
        foreseen ? SpentOnCpu{} : SpentOnCpu{.seconds = 0.5, .flops = work / 2, .on_device = 0.05};
    if (!last_) last_ = RunTimes{.flops = work, .cpu = 1, .device = 0.1, .opening = 0.3};
    last_ = times_of_run(before, totals, context, last_);
    last_->opened_at_once = foreseen;
    last_->cpu = 1;
    last_->device = 0.1;
  }
  /// A run that opened none, since that was foreseen.
  void without_device(double seconds) {
    report::Totals totals = totals_of(0, 0, 0);
    totals.routines[1].flops = flops;
    totals.routines[1].wall_seconds = 1;
    report::Context context = context_of(0, seconds);
    if (on_cpu_.runs > 0) context.cpu_run = on_cpu_;
    last_ = times_of_run({.seconds = 1, .flops = flops, .on_device = 0.1}, totals, context, last_);
    on_cpu(seconds);
  }
  Foresight foreseen(double gain = 0.9) const {
    RunTimes times = *last_;
    times.cpu = times.device + gain;
    return foresight(times, price);
  }
  const RunTimes& last() const { return *last_; }

 private:
  std::optional<RunTimes> last_;
  report::EarlierRun on_cpu_;
};

TEST(RunTimes, OfWholeRunsOnTheCpuTellThatTheDeviceLoses) {
  WholeRuns runs;
  runs.with_device(3.2, 0.6);
  EXPECT_EQ(runs.foreseen(), Foresight::gains) << "no run on the CPU is known";
  runs.on_cpu(3);
  runs.with_device(3.2, 0.6);
  EXPECT_EQ(runs.foreseen(), Foresight::loses) << "opening slows the rest of the program by more than calls gain";
  EXPECT_EQ(runs.foreseen(2), Foresight::gains) << "something else took longer";
  runs.without_device(3.02);
  EXPECT_EQ(runs.foreseen(), Foresight::loses);
  EXPECT_EQ(runs.last().without_device.runs, 2U);
}

TEST(RunTimes, OfWholeRunsOnTheCpuTellThatTheDeviceGains) {
  WholeRuns runs;
  runs.on_cpu(3);
  runs.with_device(2.6, 0.4);
  EXPECT_EQ(runs.foreseen(), Foresight::gains);
  EXPECT_EQ(runs.foreseen(0.1), Foresight::gains) << "more than calls tell";
  runs.with_device(2.98, 0.4);
  EXPECT_EQ(runs.foreseen(0.1), Foresight::gains) << "on average";
  WholeRuns hardly;
  hardly.on_cpu(3);
  hardly.with_device(2.95, 0.9);
  EXPECT_EQ(hardly.foreseen(0.1), Foresight::loses) << "not clearly";
  WholeRuns cold;
  cold.on_cpu(6);
  cold.with_device(3.2, 0.98);
  EXPECT_EQ(cold.foreseen(0.1), Foresight::loses) << "that the program itself took less is no merit of the device";
}

TEST(RunTimes, OfOneDisturbedRunOnTheCpuDoNotEndAGain) {
  WholeRuns runs;
  for (const double seconds : {3.0, 3.1, 2.9}) runs.on_cpu(seconds);
  runs.on_cpu(2.2, 0.3);
  runs.with_device(2.6, 0.4);
  EXPECT_EQ(runs.foreseen(), Foresight::gains);
  WholeRuns first;
  first.on_cpu(2.2, 0.3);
  first.with_device(2.6, 0.4);
  EXPECT_EQ(first.foreseen(), Foresight::loses);
  first.without_device(3.1);
  EXPECT_EQ(first.foreseen(), Foresight::gains) << "the next run corrects it";
}

TEST(RunTimes, OfARunThatOpenedTheDeviceLateAreThoseOfOneThatOpensItAtOnce) {
  WholeRuns runs;
  runs.on_cpu(3);
  runs.with_device(3.2, 0.9, false);
  EXPECT_EQ(runs.foreseen(), Foresight::gains) << "it lost 0.45 s until then";
  runs.with_device(3.2, 0.6);
  EXPECT_EQ(runs.foreseen(), Foresight::loses) << "one that opened it at once tells more";
  EXPECT_NEAR(runs.last().with_device.seconds, 3.2, 1e-9);
  runs.with_device(2.8, 0.9, false);
  EXPECT_NEAR(runs.last().with_device.seconds, 3.2, 1e-9);
}

TEST(RunTimes, OfOtherWorkAreNotCompared) {
  WholeRuns runs;
  runs.on_cpu(3);
  runs.with_device(3.2, 0.6);
  EXPECT_EQ(runs.foreseen(), Foresight::loses);
  runs.with_device(3.2, 0.6, true, 1.02 * WholeRuns::flops);
  EXPECT_EQ(runs.last().without_device.runs, 0U);
  EXPECT_EQ(runs.foreseen(), Foresight::gains) << "as calls tell";
}

TEST(RunTimes, OfWholeRunsLeaveOutWhatPatchingTakes) {
  report::Context context = context_of(0, 3);
  context.interception.seconds = 0.5;
  report::Totals totals = totals_of(1e11, 0.1, 0);
  EXPECT_DOUBLE_EQ(times_of_run({}, totals, context, std::nullopt).without_device.seconds, 2.5);
  context.device_opening = report::DeviceOpening{.seconds = 0.3, .closing = 0.1, .foreseen = true};
  const RunTimes run = times_of_run({}, totals, context, std::nullopt);
  EXPECT_DOUBLE_EQ(run.with_device.seconds, 2.6) << "and closing counts";
  EXPECT_DOUBLE_EQ(run.opening, 0.4);
  context.cpu_run = report::EarlierRun{.flops = 1e11, .seconds = 2.6, .in_calls = 0, .runs = 1};
  context.cost_seconds = 0.5;
  EXPECT_DOUBLE_EQ(times_of_run({}, totals, context, std::nullopt).with_device.seconds, 2.6);
}

TEST(RunTimes, DoNotPromiseWhatWholeRunsDoNotShow) {
  const auto told = [](double gain, double with_device, double without_device) {
    return foresight({.flops = 1e11,
                      .cpu = 1 + gain,
                      .device = 1,
                      .opening = 0.2,
                      .with_device = {.seconds = with_device},
                      .without_device = {.seconds = without_device}},
                     price);
  };
  EXPECT_EQ(told(0.5, 1.4, 1.5), Foresight::gains);
  EXPECT_EQ(told(0.5, 1.5, 1.4), Foresight::loses);
  EXPECT_EQ(told(0.5, 1.5, 0), Foresight::gains) << "there was no run without the device";
  EXPECT_EQ(told(0.5, 0, 1.5), Foresight::gains) << "there was no run with the device";
  EXPECT_EQ(told(2, 3, 2), Foresight::gains) << "something else took longer";
}

class RunHistoryTest : public testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", cache_.c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(cache_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(files().at(0)).rdbuf();
    return text.str();
  }

  const test::TemporaryFolder folder_{};
  const fs::path& cache_ = folder_.path;
  const RunTimes gaining_{.flops = 1e11, .cpu = 1, .device = 0.1, .opening = 0.2};
};

TEST_F(RunHistoryTest, KnowTheTimesOfTheLastRunOfTheSameCommand) {
  EXPECT_FALSE(RunHistory("one GPU").times());
  RunHistory("one GPU").keep(gaining_, price);
  const auto times = RunHistory("one GPU").times();
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->flops, 1e11);
  EXPECT_DOUBLE_EQ(times->cpu, 1);
  EXPECT_DOUBLE_EQ(times->device, 0.1);
  EXPECT_DOUBLE_EQ(times->opening, 0.2);
  EXPECT_FALSE(RunHistory("another GPU").times());
}

// By the model the CPU is four times as fast as it really is.
TEST_F(RunHistoryTest, AreJudgedByTheSameTimes) {
  std::vector<bool> at_once;
  for (int run = 0; run < 6; ++run) {
    const RunHistory earlier("one GPU");
    const bool gains = earlier.times() && foresight(*earlier.times(), price) == Foresight::gains;
    at_once.push_back(gains);
    const SpentOnCpu before = gains ? SpentOnCpu{} : SpentOnCpu{.seconds = 0.6, .flops = 6e10, .on_device = 0.06};
    RunTimes times = times_of_run(before, gains ? totals_of(1e11, 0.1, 0.25) : totals_of(4e10, 0.04, 0.1),
                                  context_of(0.2, 1), earlier.times());
    times.opened_at_once = gains;
    earlier.keep(times, price);
  }
  EXPECT_THAT(at_once, testing::ElementsAre(false, true, true, true, true, true));
}

TEST_F(RunHistoryTest, HoldNoCommandLine) {
  RunHistory("one GPU").keep(gaining_, price);
  EXPECT_THAT(content(), testing::Not(testing::HasSubstr("unit")));
  EXPECT_THAT(content(), testing::Not(testing::HasSubstr("GPU")));
}

TEST_F(RunHistoryTest, LeaveNothingOfShortRuns) {
  RunHistory("one GPU").keep({.flops = 1e10, .cpu = 0.1, .device = 0, .opening = 0}, price);
  RunHistory("one GPU").keep({}, price);
  EXPECT_TRUE(files().empty());
}

TEST_F(RunHistoryTest, AreWrittenAgainOnlyWhereTheNextRunWouldDecideOtherwise) {
  RunHistory("one GPU").keep(gaining_, price);
  const fs::path file = files().at(0);
  const std::string before = content();
  RunHistory("one GPU").keep({.flops = 1e11, .cpu = 1.1, .device = 0.11, .opening = 0.3}, price);
  EXPECT_EQ(content(), before) << "as equal runs scatter";
  RunHistory("one GPU").keep({.flops = 1e11, .cpu = 0.3, .device = 0.1, .opening = 0.2}, price);
  EXPECT_NE(content(), before);
  EXPECT_EQ(foresight(RunHistory("one GPU").times().value(), price), Foresight::loses);
  EXPECT_EQ(files().size(), 1U) << "and no other name is left";
}

TEST_F(RunHistoryTest, CountForAMonth) {
  RunHistory("one GPU").keep(gaining_, price);
  const auto written_days_ago = [&](int days) {
    const std::time_t then = std::time(nullptr) - days * 24 * 3600;
    const utimbuf times{then, then};
    utime(files().at(0).c_str(), &times);
    return RunHistory("one GPU").times().has_value();
  };
  EXPECT_TRUE(written_days_ago(29));
  EXPECT_FALSE(written_days_ago(31));
}

TEST_F(RunHistoryTest, GrowOlderWhereARunHasTimedOneSideOnly) {
  RunHistory("one GPU").keep(gaining_, price);
  const fs::path file = files().at(0);
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(20 * 24);
  fs::last_write_time(file, before);
  RunTimes other = gaining_;
  other.flops *= 2;
  other.carried_over = true;
  RunHistory("one GPU").keep(other, price);
  EXPECT_DOUBLE_EQ(RunHistory("one GPU").times()->flops, 2 * gaining_.flops);
  EXPECT_LT(fs::last_write_time(file), before + std::chrono::hours(1));
  other.flops *= 2;
  other.carried_over = false;
  RunHistory("one GPU").keep(other, price);
  EXPECT_GT(fs::last_write_time(file), before + std::chrono::hours(1));
}

TEST_F(RunHistoryTest, MayBeKnownWhereThereIsAFile) {
  EXPECT_FALSE(RunHistory::may_be_known());
  RunHistory("one GPU").keep(gaining_, price);
  EXPECT_TRUE(RunHistory::may_be_known());
}

TEST_F(RunHistoryTest, HaveNoLeadAfterOneThatOpenedAheadAndNeverEnded) {
  RunTimes led = gaining_;
  led.lead = 0.3;
  RunHistory("one GPU").keep(led, price);
  const auto lead = [] { return RunHistory("one GPU").times().value().lead; };
  const auto in_child = [](auto body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(0);
    }
    return test::status_of(child);
  };
  EXPECT_DOUBLE_EQ(lead(), 0.3);
  RunHistory run("one GPU");
  EXPECT_TRUE(run.mark_ahead());
  EXPECT_DOUBLE_EQ(lead(), 0) << "another process had the number of this one";
  EXPECT_EQ(in_child([&] { _exit(lead() == 0.3 ? 0 : 1); }), 0) << "the other one is still at it";
  run.keep(led, price);
  EXPECT_DOUBLE_EQ(lead(), 0.3);
  EXPECT_EQ(in_child([] { RunHistory("one GPU").mark_ahead(); }), 0);
  EXPECT_DOUBLE_EQ(lead(), 0);
  RunHistory("one GPU").keep(led, price);
  EXPECT_DOUBLE_EQ(lead(), 0.3) << "one that was not opened ahead, and came to its end";
  RunHistory without_room("one GPU");
  fs::remove_all(cache_ / "blastoff");
  std::ofstream(cache_ / "blastoff") << "no folder";
  EXPECT_FALSE(without_room.mark_ahead());
}

TEST_F(RunHistoryTest, HaveNoLeadAfterOneThatOpenedAheadForNothing) {
  RunTimes led = gaining_;
  led.lead = 0.3;
  RunHistory("one GPU").keep(led, price);
  RunHistory run("one GPU");
  run.mark_ahead();
  run.keep({}, price);
  const RunTimes times = RunHistory("one GPU").times().value();
  EXPECT_DOUBLE_EQ(times.lead, 0);
  EXPECT_DOUBLE_EQ(times.cpu, led.cpu);
}

TEST_F(RunHistoryTest, KnowWhatWasUsedOnce) {
  using Kinds = std::vector<std::uint64_t>;
  const Kinds kinds = {7, UINT64_MAX};
  EXPECT_TRUE(RunHistory("one GPU").used_once().empty());
  RunHistory("one GPU").keep(gaining_, price, kinds);
  EXPECT_EQ(RunHistory("one GPU").used_once(), kinds);
  RunHistory("one GPU").keep(gaining_, price);
  EXPECT_EQ(RunHistory("one GPU").used_once(), kinds) << "a run that did not open the device knows nothing of it";
  RunTimes longer = gaining_;
  longer.flops *= 2;
  RunHistory("one GPU").keep(longer, price);
  EXPECT_EQ(RunHistory("one GPU").used_once(), kinds);
  RunHistory("one GPU").keep(longer, price, Kinds{});
  EXPECT_TRUE(RunHistory("one GPU").used_once().empty()) << "all were used again";
}

TEST_F(RunHistoryTest, IgnoreWhatIsNoFileOfTheirs) {
  RunHistory("one GPU").keep(gaining_, price);
  const fs::path file = files().at(0);
  const std::string right = content();
  const auto replaced = [&](const std::string& old, const std::string& now) {
    std::string text = right;
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    std::ofstream(file) << text.replace(at, old.size(), now);
    return RunHistory("one GPU").times().has_value();
  };
  EXPECT_TRUE(replaced("\"version\":7", "\"version\":7"));
  EXPECT_FALSE(replaced("\"version\":7", "\"version\":6"));
  EXPECT_FALSE(replaced("\"version\":7", "\"version\":[4"));
  EXPECT_FALSE(replaced("\"with_device\":[", "\"with_device\":[0,"));
  EXPECT_FALSE(replaced("\"without_device\":[", "\"without_device\":[-1,"));
  EXPECT_FALSE(replaced("\"opening_ahead\":0", "\"opening_ahead\":-1"));
  EXPECT_FALSE(replaced("\"opening_ahead\":0", "\"opening_ahead\":1e10"));
  EXPECT_FALSE(replaced("\"opening_ahead\":0", "\"opening_ahead\":10000000000"));
  EXPECT_FALSE(replaced("\"used_once\":[", "\"used_once\":[-1"));
  EXPECT_FALSE(replaced("\"used_once\":[", "\"used_once\":[\"one\""));
  EXPECT_FALSE(replaced("\"used_once\":[]", "\"used_once\":\"all\""));
  EXPECT_FALSE(replaced("\"used_once\":[]", fmt::format("\"used_once\":[{}]", fmt::join(std::vector(65, 7), ","))));
  EXPECT_FALSE(replaced("\"opened_at_once\":false", "\"opened_at_once\":0"));
  EXPECT_FALSE(replaced("\"for_all_ranks\":false", "\"for_all_ranks\":0"));
  EXPECT_FALSE(replaced("\"cpu_seconds\":", "\"cpu_seconds\":-"));
  EXPECT_FALSE(replaced("\"flops\":", "\"flops\":\"many\",\"of\":"));
  EXPECT_FALSE(replaced("\"device_seconds\":", "\"seconds\":"));
  EXPECT_FALSE(replaced(right, ""));
  EXPECT_FALSE(replaced(right, "[]"));
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(RunHistory("one GPU").times()) << "and no writer is waited for";
  RunHistory("one GPU").keep(gaining_, price);
  EXPECT_TRUE(RunHistory("one GPU").times());
}

TEST_F(RunHistoryTest, AreSilentWhereNothingCanBeKept) {
  setenv("XDG_CACHE_HOME", (cache_ / "file" / "below").c_str(), 1);
  std::ofstream(cache_ / "file") << "no folder";
  testing::internal::CaptureStderr();
  RunHistory("one GPU").keep(gaining_, price);
  EXPECT_FALSE(RunHistory("one GPU").times());
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "", 1);
  RunHistory("one GPU").keep(gaining_, price);
  EXPECT_FALSE(RunHistory("one GPU").times());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace blastoff::runtime
