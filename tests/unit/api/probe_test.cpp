#include "api/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../include/blastoff.h"
#include "tracking/page_tracker.h"

namespace blastoff::api {
namespace {

nlohmann::json probe(const char* device) {
  config::Settings settings = config::read_settings();
  settings.device = device;
  return nlohmann::json::parse(probe_json(settings));
}

TEST(Probe, OpensTheSimulatedDevice) {
  const nlohmann::json probed = probe("simulated");
  const nlohmann::json& device = probed.at("device");
  EXPECT_EQ(device.at("works"), true);
  EXPECT_EQ(device.at("error"), "");
  EXPECT_EQ(device.at("kind"), "simulated");
  EXPECT_EQ(device.at("total_memory"), std::size_t{1} << 30);
  EXPECT_EQ(probed.at("settings").at("device"), "simulated");
}

TEST(Probe, SaysWhyADeviceDoesNotOpen) {
  const nlohmann::json device = probe("cuda:9999").at("device");
  EXPECT_EQ(device.at("works"), false);
  EXPECT_THAT(device.at("error").get<std::string>(),
              testing::AllOf(testing::Not(""), testing::Not(testing::HasSubstr("\n"))));
}

TEST(Probe, TrackingWorksWhereATrackerOpens) {
  const nlohmann::json tracker = probe("none").at("tracker");
  EXPECT_EQ(tracker.at("works"), tracking::open_page_tracker().has_value());
  EXPECT_EQ(tracker.at("works"), tracker.at("error") == "");
}

TEST(Probe, CodeCanBeMadeAndWrittenHere) {
  const nlohmann::json patching = probe("none").at("patching");
  EXPECT_EQ(patching.at("error"), "");
  EXPECT_EQ(patching.at("works"), true);
}

TEST(Exports, AreTextThatStays) {
  EXPECT_STREQ(blastoff_version(), BLASTOFF_VERSION);
  EXPECT_EQ(blastoff_options_json(), blastoff_options_json());
  EXPECT_EQ(nlohmann::json::parse(blastoff_options_json()), nlohmann::json::parse(config::options_json()));
}

}  // namespace
}  // namespace blastoff::api
