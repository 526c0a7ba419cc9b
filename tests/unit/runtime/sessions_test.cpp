// Several devices in one process: opening them.
#include "runtime/sessions.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace {

using blastoff::runtime::Sessions;

bool has_thread_now(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name) return true;
  }
  return false;
}

/// A thread names itself once it runs.
bool has_thread(const std::string& name) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (has_thread_now(name)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(Sessions, WhatIsOpenStaysUsableWhenTheRestIsNotWantedAnyMore) {
  if (!blastoff::tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  blastoff::config::Settings settings = blastoff::config::read_settings();
  settings.device = "simulated:0,1";
  int asked = 0;
  const auto sessions = Sessions::start(settings, [&] { return ++asked > 2; });  // of the second device
  EXPECT_FALSE(sessions);
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(has_thread("blastoff-share")) << "the device that is open has lost its tracker";
}

}  // namespace
