// What runs tell later runs of how fast the CPU is.
#include "runtime/earlier_rates.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace blastoff::runtime {
namespace {

namespace fs = std::filesystem;

class EarlierRatesTest : public testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", cache_.c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  /// A run whose calls of a class took so long.
  static void run(double seconds_per_flop, std::uint32_t calls = 100) {
    EarlierRates("").keep({{.key = 7, .seconds_per_flop = seconds_per_flop, .calls = calls}}, std::nullopt);
  }
  static void run_on_cpu(double seconds, double flops = 1e9) {
    EarlierRates("").keep({},
                          report::EarlierRun{.flops = flops, .seconds = seconds, .in_calls = seconds / 2, .runs = 1});
  }
  static report::EarlierRun known_run() { return EarlierRates("").cpu_run().value_or(report::EarlierRun{}); }
  static double known() {
    const EarlierRates rates("");
    return rates.rates().size() == 1 ? rates.rates().front().seconds_per_flop : 0;
  }

  const test::TemporaryFolder folder_{};
  const fs::path& cache_ = folder_.path;
};

TEST_F(EarlierRatesTest, AreTheMeanOverRuns) {
  run(1);
  EXPECT_DOUBLE_EQ(known(), 1);
  run(1.2);
  EXPECT_DOUBLE_EQ(known(), 1.1) << "also where a run differs by less than runs do";
  run(0.8);
  EXPECT_DOUBLE_EQ(known(), 1);
}

TEST_F(EarlierRatesTest, ForgetRunsOfLongAgo) {
  for (int i = 0; i < 10; ++i) run(1);
  for (int i = 0; i < 20; ++i) run(2);
  EXPECT_NEAR(known(), 2, 0.1);
}

TEST_F(EarlierRatesTest, OfAFewCallsCountLess) {
  run(1, 15);
  run(2, 1);
  EXPECT_DOUBLE_EQ(known(), 17.0 / 16);
}

TEST_F(EarlierRatesTest, OfDisturbedCallsCountUntilThereAreOthers) {
  run(3, 0);
  EXPECT_DOUBLE_EQ(known(), 3) << "better than nothing";
  run(1, 2);
  EXPECT_DOUBLE_EQ(known(), 1);
  run(3, 0);
  EXPECT_DOUBLE_EQ(known(), 1);
}

TEST_F(EarlierRatesTest, RunsOnTheCpuAreTheMeanOverThoseWithTheSameWork) {
  EXPECT_EQ(known_run().runs, 0U);
  run_on_cpu(10);
  run_on_cpu(12, 1.005e9);
  run(1);
  EXPECT_DOUBLE_EQ(known_run().seconds, 11) << "a run with a device leaves it as it was";
  EXPECT_DOUBLE_EQ(known_run().in_calls, 5.5);
  EXPECT_DOUBLE_EQ(known(), 1) << "and both are kept";
  run_on_cpu(30, 2e9);
  EXPECT_DOUBLE_EQ(known_run().seconds, 30);
  EXPECT_EQ(known_run().runs, 1U);
  for (int i = 0; i < 20; ++i) run_on_cpu(40, 2e9);
  EXPECT_NEAR(known_run().seconds, 40, 0.4) << "runs of long ago are forgotten";
}

TEST_F(EarlierRatesTest, AreWrittenAgainOnlyWhereTheyChange) {
  for (int i = 0; i < 4; ++i) run(1);
  const fs::path file = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(cache_))
      if (entry.is_regular_file()) return entry.path();
    return fs::path();
  }();
  const fs::file_time_type before = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, before);
  run(1.04);
  EXPECT_EQ(fs::last_write_time(file), before);
  run(2);
  EXPECT_GT(fs::last_write_time(file), before);
}

}  // namespace
}  // namespace blastoff::runtime
