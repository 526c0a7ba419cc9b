// What runs tell later runs of how fast the CPU is.
#include "runtime/earlier_rates.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace blastoff::runtime {
namespace {

namespace fs = std::filesystem;

class EarlierRatesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "blastoff-rates-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    cache_ = pattern;
    setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    fs::remove_all(cache_);
  }

  /// A run whose calls of a class took so long.
  static void run(double seconds_per_flop, std::uint32_t calls = 100) {
    EarlierRates("").keep({{.key = 7, .seconds_per_flop = seconds_per_flop, .calls = calls}});
  }
  static double known() {
    const EarlierRates rates("");
    return rates.rates().size() == 1 ? rates.rates().front().seconds_per_flop : 0;
  }

  fs::path cache_;
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
