// The simulated devices of one process, as calls see them.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "config/settings.h"
#include "runtime/device_set.h"

namespace blastoff::test {

/// Opens small simulated devices. They are never closed, as in a process.
inline runtime::DeviceSet& open_simulated(int count, config::SplitMode split, const std::string& fault = "") {
  config::Settings settings = config::read_settings();
  settings.device = "simulated:all";
  settings.policy = config::PolicyName::automatic;  // regardless of other tests' settings
  settings.simulated_devices = count;
  settings.simulated_memory.bytes = std::size_t{32} << 20;
  settings.simulated_fault = fault;
  settings.split = split;
  auto devices = runtime::DeviceSet::start(settings, [] { return false; });
  EXPECT_TRUE(devices) << devices.error().message;
  return *devices->release();
}

}  // namespace blastoff::test
