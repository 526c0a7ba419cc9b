#include "config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "config/option_value.h"
#include "config/options.h"

namespace blastoff::config {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Reads the settings with one variable set; `printed` holds the output.
class SettingsTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const Option& option : options()) unsetenv(option.environment);
    unsetenv("BLASTOFF_POLCY");
  }

  Settings read_with(const char* variable, const char* value) {
    setenv(variable, value, 1);
    testing::internal::CaptureStderr();
    const Settings settings = read_settings();
    printed = testing::internal::GetCapturedStderr();
    unsetenv(variable);
    return settings;
  }

  std::string printed;
};

TEST_F(SettingsTest, DefaultsAreThoseOfTheTable) {
  testing::internal::CaptureStderr();
  const Settings settings = read_settings();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  EXPECT_EQ(settings.policy, PolicyName::automatic);
  EXPECT_EQ(settings.device, "cuda");
  EXPECT_EQ(settings.device_memory.percent, 80);
  EXPECT_EQ(settings.simulated_memory.bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(settings.verify.mode, VerifyMode::off);
  EXPECT_EQ(settings.report, "");
}

TEST_F(SettingsTest, EveryDefaultIsAcceptedAndEchoed) {
  const auto echo = describe(read_settings());
  std::size_t row = 0;
  for (const Option& option : options()) {
    if (option.scope != Scope::library) continue;
    ASSERT_LT(row, echo.size());
    EXPECT_EQ(echo[row].first, option.name);
    EXPECT_EQ(echo[row].second, option.initial) << option.name;
    ++row;
  }
  EXPECT_EQ(row, echo.size());
}

/// The words of a choice have the order of its enumerators, so each word must read back as itself, and differently from
/// the others.
TEST_F(SettingsTest, EveryChoiceIsTakenAndEchoed) {
  for (const Option& option : options()) {
    if (option.accepted.kind != Accepted::Kind::choice || option.scope != Scope::library) continue;
    for (const std::string_view word : split_choices(option.accepted.values)) {
      if (word.ends_with(":N") || word.ends_with(":LIST") || word.ends_with("=PERCENT") || word.ends_with("=FILE"))
        continue;
      const Settings settings = read_with(option.environment, std::string(word).c_str());
      EXPECT_THAT(printed, IsEmpty());
      EXPECT_THAT(describe(settings),
                  testing::Contains(testing::Pair(option.name, testing::StartsWith(std::string(word)))));
    }
  }
}

TEST_F(SettingsTest, EnumeratorsMatchTheirWords) {
  EXPECT_EQ(read_with("BLASTOFF_POLICY", "copy").policy, PolicyName::copy);
  EXPECT_EQ(read_with("BLASTOFF_POLICY", "coherent").policy, PolicyName::coherent);
  EXPECT_EQ(read_with("BLASTOFF_POLICY", "first-use").policy, PolicyName::first_use);
  EXPECT_EQ(read_with("BLASTOFF_SPLIT", "always").split, SplitMode::always);
  EXPECT_EQ(read_with("BLASTOFF_SPLIT", "never").split, SplitMode::never);
  EXPECT_EQ(read_with("BLASTOFF_EXCHANGE", "always").exchange, ExchangeMode::always);
  EXPECT_EQ(read_with("BLASTOFF_EXCHANGE", "never").exchange, ExchangeMode::never);
  EXPECT_EQ(read_with("BLASTOFF_GATHER", "always").gather, GatherMode::always);
  EXPECT_EQ(read_with("BLASTOFF_GATHER", "never").gather, GatherMode::never);
  EXPECT_EQ(read_with("BLASTOFF_GATHER_GPUS", "all").gather_gpus, GatherGpus::all);
  EXPECT_EQ(read_with("BLASTOFF_MECHANISM", "mirrors").mechanism, MechanismName::mirrors);
  EXPECT_EQ(read_with("BLASTOFF_MECHANISM", "moves").mechanism, MechanismName::moves);
  EXPECT_EQ(read_with("BLASTOFF_MECHANISM", "prefetch").mechanism, MechanismName::prefetch);
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_NODE", "3").device_node, 3);
  EXPECT_EQ(read_with("BLASTOFF_SIMULATED_FORM", "pageable").simulated_form, SimulatedForm::pageable);
  EXPECT_EQ(read_with("BLASTOFF_TRACKER", "soft-dirty").tracker, TrackerName::soft_dirty);
  EXPECT_EQ(read_with("BLASTOFF_TRACKER", "auto").tracker, TrackerName::automatic);
  EXPECT_EQ(read_with("BLASTOFF_TRACKER", "uffd").tracker, TrackerName::uffd);
  EXPECT_EQ(read_with("BLASTOFF_TRACKER", "none").tracker, TrackerName::none);
  EXPECT_EQ(read_with("BLASTOFF_ARGUMENTS", "drop").arguments, ArgumentsMode::drop);
  EXPECT_EQ(read_with("BLASTOFF_ARGUMENTS", "none").arguments, ArgumentsMode::keep);
  EXPECT_EQ(read_with("BLASTOFF_SUMMARY", "auto").summary, SummaryMode::automatic);
  EXPECT_EQ(read_with("BLASTOFF_SUMMARY", "always").summary, SummaryMode::always);
  EXPECT_EQ(read_with("BLASTOFF_SUMMARY", "never").summary, SummaryMode::never);
  EXPECT_EQ(read_with("BLASTOFF_LOG", "calls").log.mode, LogMode::calls);
  EXPECT_EQ(read_with("BLASTOFF_VERIFY", "report").verify.mode, VerifyMode::report);
  EXPECT_EQ(read_with("BLASTOFF_VERIFY", "abort").verify.mode, VerifyMode::abort);
  EXPECT_EQ(read_with("BLASTOFF_VERIFY", "sample").verify.mode, VerifyMode::sample);
}

TEST_F(SettingsTest, BadValueIsReportedWithWhatIsAcceptedAndTheDefaultStays) {
  EXPECT_EQ(read_with("BLASTOFF_POLICY", "fast").policy, PolicyName::automatic);
  EXPECT_EQ(printed,
            "blastoff: invalid value BLASTOFF_POLICY=fast; accepted: auto, first-use, coherent or copy; using auto\n");
  EXPECT_EQ(read_with("BLASTOFF_MIN_SIZE", "1e3").min_size, std::nullopt);
  EXPECT_THAT(printed, HasSubstr("an integer, 0 or more"));
  for (const char* bad : {"-1", "+5", " 5", "5 ", "0x10", "99999999999999999999", "many"}) {
    EXPECT_EQ(read_with("BLASTOFF_MIN_SIZE", bad).min_size, std::nullopt) << bad;
    EXPECT_THAT(printed, HasSubstr("BLASTOFF_MIN_SIZE=")) << bad;
  }
  EXPECT_EQ(read_with("BLASTOFF_COPY_THREADS", "257").copy_threads, 0);
  EXPECT_THAT(printed, HasSubstr("from 0 to 256"));
}

TEST_F(SettingsTest, DecisionAndStartDependOnTheDeviceUnlessTheyAreSet) {
  const Settings gpu = read_with("BLASTOFF_DEVICE", "cuda:1");
  EXPECT_EQ(decide_by(gpu), DecideBy::time);
  EXPECT_EQ(start_mode(gpu), StartMode::background);
  const Settings simulated = read_with("BLASTOFF_DEVICE", "simulated");
  EXPECT_EQ(decide_by(simulated), DecideBy::size);
  EXPECT_EQ(decide_by(read_with("BLASTOFF_DEVICE", "none")), DecideBy::time) << "for runs with a device";
  EXPECT_EQ(start_mode(simulated), StartMode::now);
  EXPECT_EQ(decide_by(read_with("BLASTOFF_MIN_SIZE", "250")), DecideBy::time) << "of what is larger";
  EXPECT_EQ(decide_by(read_with("BLASTOFF_DECIDE", "size")), DecideBy::size);
  EXPECT_EQ(start_mode(read_with("BLASTOFF_START", "now")), StartMode::now);
}

TEST_F(SettingsTest, EmptyMeansNotSet) {
  EXPECT_EQ(read_with("BLASTOFF_MIN_SIZE", "").min_size, std::nullopt);
  EXPECT_THAT(printed, IsEmpty());
}

TEST_F(SettingsTest, LinesOfCallsMayGoToAFile) {
  const Settings settings = read_with("BLASTOFF_LOG", "calls=/tmp/lines=%p");
  EXPECT_EQ(settings.log.mode, LogMode::calls);
  EXPECT_EQ(settings.log.file, "/tmp/lines=%p");
  EXPECT_THAT(describe(settings), testing::Contains(testing::Pair("log", "calls=/tmp/lines=%p")));
  EXPECT_EQ(read_with("BLASTOFF_LOG", "calls=").log.mode, LogMode::none);
  EXPECT_THAT(printed, HasSubstr("none, calls or calls=FILE"));
}

TEST_F(SettingsTest, TheShareOfCallsThatAreVerified) {
  EXPECT_EQ(read_with("BLASTOFF_VERIFY", "report").verify.share, 1);
  for (const auto& [text, share] : {std::pair{"sample", 0.01}, {"sample=100%", 1}, {"sample=2%", 0.02}}) {
    const Settings settings = read_with("BLASTOFF_VERIFY", text);
    EXPECT_EQ(settings.verify.mode, VerifyMode::sample) << text;
    EXPECT_DOUBLE_EQ(settings.verify.share, share) << text;
  }
  const Settings tenth = read_with("BLASTOFF_VERIFY", "sample=0.125%");
  EXPECT_DOUBLE_EQ(tenth.verify.share, 0.00125);
  EXPECT_THAT(describe(tenth), testing::Contains(testing::Pair("verify", "sample=0.125%")));
  for (const char* bad : {"sample=", "sample=0%", "sample=101%", "sample=100.1%", "sample=1", "sample=-1%",
                          "sample=.5%", "sample=1.%", "sample=1.23456%", "sample=0.0%", "samples"}) {
    EXPECT_EQ(read_with("BLASTOFF_VERIFY", bad).verify.mode, VerifyMode::off) << bad;
    EXPECT_THAT(printed, HasSubstr("off, report, abort, sample or sample=PERCENT")) << bad;
  }
}

TEST_F(SettingsTest, MemorySizes) {
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", "65536").device_memory.bytes, 65536U);
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", "4G").device_memory.bytes, std::uint64_t{4} << 30);
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", "3k").device_memory.bytes, 3072U);
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", "2T").device_memory.bytes, std::uint64_t{2} << 40);
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", "4G").device_memory.percent, 0);
  EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", "55%").device_memory.percent, 55);
  for (const char* bad : {"0", "0%", "101%", "G", "%", "4GB", "1.5G", "99999999999T", "-1"}) {
    EXPECT_EQ(read_with("BLASTOFF_DEVICE_MEMORY", bad).device_memory.percent, 80) << bad;
    EXPECT_THAT(printed, HasSubstr("1% to 100%")) << bad;
  }
  EXPECT_EQ(read_with("BLASTOFF_SIMULATED_MEMORY", "50%").simulated_memory.bytes, std::uint64_t{1} << 30);
  EXPECT_THAT(printed, HasSubstr("BLASTOFF_SIMULATED_MEMORY=50%"));
}

TEST_F(SettingsTest, MemoryIsEchoedAsItWouldBeWritten) {
  for (const char* text : {"80%", "1G", "1536M", "65537", "3K", "2T"}) {
    const auto size = parse_value(accepted::memory_or_percent(), text);
    ASSERT_TRUE(size.has_value()) << text;
    EXPECT_EQ(format_memory({static_cast<double>(size->percent), size->bytes}), text);
  }
}

TEST_F(SettingsTest, Devices) {
  for (const char* good : {"cuda", "cuda:0", "cuda:15", "cuda:0,1", "cuda:3,0,11", "cuda:all", "simulated",
                           "simulated:1", "simulated:2,0", "simulated:all", "none"}) {
    EXPECT_EQ(read_with("BLASTOFF_DEVICE", good).device, good);
    EXPECT_THAT(printed, IsEmpty());
  }
  for (const char* bad : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:12345", "CUDA", "cuda:0,", "cuda:,1", "cuda:0,0",
                          "cuda:1,2,01", "cuda:0,x", "cuda:0 ,1", "cuda:all,1", "none:1"}) {
    EXPECT_EQ(read_with("BLASTOFF_DEVICE", bad).device, "cuda") << bad;
    EXPECT_THAT(
        printed,
        HasSubstr("cuda, cuda:N, cuda:LIST, cuda:all, simulated, simulated:N, simulated:LIST, simulated:all or none"))
        << bad;
  }
}

TEST_F(SettingsTest, Durations) {
  constexpr Accepted accepted = accepted::duration(10, 3600000);
  EXPECT_EQ(parse_value(accepted, "10ms")->integer, 10);
  EXPECT_EQ(parse_value(accepted, "2s")->integer, 2000);
  EXPECT_EQ(parse_value(accepted, "3600s")->integer, 3600000);
  for (const char* bad : {"", "s", "ms", "9ms", "3601s", "10", "-1s", "1.5s", "1m", "4294967296s", "10 ms"})
    EXPECT_FALSE(parse_value(accepted, bad)) << bad;
  EXPECT_EQ(describe_accepted(accepted), "a time from 10ms to 3600s, with the unit ms or s");
}

TEST_F(SettingsTest, UnknownVariableNamesTheNearestKnown) {
  read_with("BLASTOFF_POLCY", "copy");
  EXPECT_EQ(printed, "blastoff: unknown setting BLASTOFF_POLCY (did you mean BLASTOFF_POLICY?)\n");
}

TEST_F(SettingsTest, VariablesOfTheLauncherAreKnown) {
  read_with("BLASTOFF_PLACE", "none");
  EXPECT_THAT(printed, IsEmpty());
  read_with("BLASTOFF_LIBRARY", "/somewhere/libblastoff.so");
  EXPECT_THAT(printed, IsEmpty());
  read_with("BLASTOFF_RUN", "node:1:2");
  unsetenv("BLASTOFF_RUN");
  EXPECT_THAT(printed, IsEmpty());
}

TEST(OptionTable, NamesAndVariablesBelongTogether) {
  std::set<std::string> names;
  for (const Option& option : options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name << " stands twice";
    std::string expected = "BLASTOFF_";
    for (const char* c = option.name; *c != '\0'; ++c) {
      expected += *c == '-' ? '_' : static_cast<char>(*c - 'a' + 'A');
    }
    EXPECT_EQ(option.environment, expected);
    EXPECT_STRNE(option.help, "");
  }
}

TEST(OptionTable, JsonHasEveryOption) {
  const nlohmann::json table = nlohmann::json::parse(options_json());
  ASSERT_EQ(table.size(), options().size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i].at("name"), options()[i].name);
    for (const char* key : {"environment", "kind", "values", "default", "help", "audience", "scope"}) {
      EXPECT_TRUE(table[i].at(key).is_string()) << key;
    }
  }
  EXPECT_EQ(table[0].at("choices"), nlohmann::json({"auto", "first-use", "coherent", "copy"}));
}

}  // namespace
}  // namespace blastoff::config
