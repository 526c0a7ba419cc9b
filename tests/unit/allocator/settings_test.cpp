#include "allocator/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace blastoff::allocator {
namespace {

using testing::HasSubstr;

std::map<std::string, std::string>& environment() {
  static std::map<std::string, std::string> variables;
  return variables;
}

const char* get(const char* variable) {
  const auto found = environment().find(variable);
  return found == environment().end() ? nullptr : found->second.c_str();
}

class AllocatorSettingsTest : public testing::Test {
 protected:
  void SetUp() override { environment().clear(); }

  static Settings with(const std::string& variable, const std::string& value) {
    environment() = {{variable, value}};
    return read_settings(get);
  }
};

constexpr std::size_t mebi = std::size_t{1} << 20;

TEST_F(AllocatorSettingsTest, AskForNothingByDefault) {
  const Settings settings = read_settings(get);
  EXPECT_EQ(settings.smallest(), never);
  EXPECT_EQ(settings.bad_variable, nullptr);
  EXPECT_TRUE(settings.huge_pages);
  EXPECT_EQ(with("BLASTOFF_PLACE", "").smallest(), never);
  EXPECT_EQ(with("BLASTOFF_PLACE", "huge-pages").smallest(), never);
}

TEST_F(AllocatorSettingsTest, Place) {
  EXPECT_EQ(with("BLASTOFF_PLACE", "at-malloc").bind_from, 64 * mebi);
  EXPECT_EQ(with("BLASTOFF_PLACE", "at-malloc=3M").bind_from, 3 * mebi);
  EXPECT_EQ(with("BLASTOFF_PLACE", "at-malloc=12345").bind_from, 12345U);
  EXPECT_FALSE(with("BLASTOFF_PLACE", "at-malloc").only_where_it_pays);
  EXPECT_EQ(with("BLASTOFF_PLACE", "auto").bind_from, 64 * mebi);
  EXPECT_TRUE(with("BLASTOFF_PLACE", "auto").only_where_it_pays);
  EXPECT_FALSE(with("BLASTOFF_PLACE", "none").huge_pages);
}

TEST_F(AllocatorSettingsTest, Align) {
  const Settings settings = with("BLASTOFF_ALIGN", "4K");
  EXPECT_EQ(settings.align_from, 4096U);
  EXPECT_EQ(settings.bind_from, never);
  environment()["BLASTOFF_PLACE"] = "at-malloc=2K";
  EXPECT_EQ(read_settings(get).smallest(), 2048U);
}

TEST_F(AllocatorSettingsTest, BadValuesCountAsNotSetAndAreNamed) {
  for (const char* bad :
       {"at-malloc=", "at-malloc=0", "at-malloc=x", "at-malloc=1MB", "at-malloc=-1", "At-malloc", "on"}) {
    const Settings settings = with("BLASTOFF_PLACE", bad);
    EXPECT_EQ(settings.smallest(), never) << bad;
    ASSERT_STREQ(settings.bad_variable, "BLASTOFF_PLACE") << bad;
    EXPECT_STREQ(settings.bad_value, bad);
    EXPECT_THAT(settings.accepted, HasSubstr("at-malloc=SIZE"));
  }
  for (const char* bad : {"0", "-4", "4KB", " 4K", "page", "1.5M"})
    EXPECT_STREQ(with("BLASTOFF_ALIGN", bad).bad_variable, "BLASTOFF_ALIGN") << bad;
}

TEST_F(AllocatorSettingsTest, ABadValueLeavesTheOtherSetting) {
  environment() = {{"BLASTOFF_PLACE", "everywhere"}, {"BLASTOFF_ALIGN", "1M"}};
  const Settings settings = read_settings(get);
  EXPECT_EQ(settings.align_from, mebi);
  EXPECT_STREQ(settings.bad_variable, "BLASTOFF_PLACE");
}

TEST_F(AllocatorSettingsTest, Sizes) {
  for (const auto& [text, bytes] : std::map<std::string, std::size_t>{{"1", 1},
                                                                      {"007", 7},
                                                                      {"2k", 2048},
                                                                      {"2G", 2048 * mebi},
                                                                      {"1T", mebi * mebi},
                                                                      {"18446744073709551615", never}})
    EXPECT_EQ(with("BLASTOFF_ALIGN", text).align_from, bytes) << text;
  for (const char* bad : {"16777216T", "99999999999999999999999", "K", "0K"})
    EXPECT_STREQ(with("BLASTOFF_ALIGN", bad).bad_variable, "BLASTOFF_ALIGN") << bad;
}

TEST_F(AllocatorSettingsTest, ChosenNode) {
  EXPECT_EQ(read_settings(get).chosen_node, -1);
  for (const auto& [text, node] :
       std::map<std::string, int>{{"0", 0}, {"17", 17}, {"-1", -1}, {"", -1}, {"one", -1}, {"1024", -1}}) {
    environment()["BLASTOFF_DEVICE_NODE"] = text;
    EXPECT_EQ(read_settings(get).chosen_node, node) << text;
  }
}

TEST_F(AllocatorSettingsTest, DeviceIsThatOfTheLocalRank) {
  EXPECT_EQ(device_index(get), 0U);
  environment()["SLURM_LOCALID"] = "3";
  EXPECT_EQ(device_index(get), 0U) << "the script of a batch job is no rank";
  environment()["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(device_index(get), 3U);
  environment()["OMPI_COMM_WORLD_LOCAL_RANK"] = "2";
  EXPECT_EQ(device_index(get), 2U);
  environment()["BLASTOFF_DEVICE"] = "cuda";
  EXPECT_EQ(read_settings(get).device, 2U);
  environment()["BLASTOFF_DEVICE"] = "cuda:1";
  EXPECT_EQ(device_index(get), 1U);
}

TEST_F(AllocatorSettingsTest, DeviceIsCountedAmongTheVisibleOnes) {
  environment()["CUDA_VISIBLE_DEVICES"] = "3";
  EXPECT_EQ(device_index(get), 3U);
  environment()["SLURM_STEP_ID"] = "0";
  environment()["SLURM_LOCALID"] = "2";
  EXPECT_EQ(device_index(get), 3U) << "ranks go round what is visible";
  environment()["CUDA_VISIBLE_DEVICES"] = "3,2,1,0";
  EXPECT_EQ(device_index(get), 1U);
  environment()["CUDA_VISIBLE_DEVICES"] = "GPU-8932f937-d72c";
  EXPECT_EQ(device_index(get), 2U);
}

}  // namespace
}  // namespace blastoff::allocator
