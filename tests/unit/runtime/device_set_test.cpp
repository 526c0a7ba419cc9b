// Several devices in one process: opening them, and choosing a device for each call.
#include "runtime/device_set.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "reference_blas.h"
#include "runtime/offload.h"
#include "runtime/operands_key.h"
#include "simulated_device_set.h"
#include "square_call.h"

namespace {

using namespace blastoff;
using runtime::DeviceSet;

bool has_thread_now(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name) return true;
  }
  return false;
}

/// Waits for a thread of this name, as a thread sets its name only when it runs.
bool has_thread(const std::string& name) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (has_thread_now(name)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(DeviceSet, WhatIsOpenStaysUsableWhenTheRestIsNotWantedAnyMore) {
  if (!tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  config::Settings settings = config::read_settings();
  settings.device = "simulated:0,1";
  int asked = 0;
  const auto devices = DeviceSet::start(settings, [&] { return ++asked > 2; });  // ends the wait for the second device
  EXPECT_FALSE(devices);
  EXPECT_EQ(asked, 3);
  EXPECT_TRUE(has_thread("blastoff-share")) << "the device that is open has lost its tracker";
}

/// So each device loads a kernel, once.
TEST(DeviceSet, EachDeviceHearsOfARoutineForTheFirstTime) {
  const std::vector<runtime::DeviceContext*> devices = test::open_simulated(2, config::SplitMode::never).all();
  for (runtime::DeviceContext* const device : devices) {
    EXPECT_TRUE(device->is_first(3));
    EXPECT_FALSE(device->is_first(3));
    EXPECT_TRUE(device->is_first(4));
  }
}

constexpr std::int64_t n = 128;
const std::size_t pages = test::pages_of_order(n);

operation::Operation product(const test::Memory& memory) {
  return test::square_call(blas::Routine::dgemm, n, memory);
}

/// Memory whose keys lie in different places of LatestDevices. If keys shared a place, only the latest home would be
/// known.
std::vector<std::unique_ptr<test::Memory>> memories_apart(std::size_t count) {
  std::vector<std::unique_ptr<test::Memory>> found, others;
  std::set<std::uint64_t> places;
  while (found.size() < count) {
    auto memory = std::make_unique<test::Memory>(3 * pages);
    const bool apart = places.insert(runtime::operands_key(product(*memory)) >> 56).second;
    (apart ? found : others).push_back(std::move(memory));
  }
  return found;
}

/// Also while other threads keep a device so busy that it cannot be asked for its contents.
TEST(DeviceSet, MatricesStayOnTheDeviceThatUsedThemLast) {
  if (!tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  constexpr std::size_t threads = 8;
  DeviceSet& devices = test::open_simulated(2, config::SplitMode::never);
  std::atomic<std::uint64_t> brought{0};
  const auto work = [&](const test::Memory& memory) {
    memory.touch();
    const operation::Operation operation = product(memory);
    const reference::ReferenceRoutine host;
    for (int round = 0; round < 60; ++round) {
      const runtime::Placement placement = devices.take(operation);
      report::Record record;
      EXPECT_EQ(runtime::offload(*placement.context, operation, host, record), report::Refusal::none);
      devices.give_back(placement, operation);
      brought += record.traffic.bytes_to_device;
    }
  };
  const test::Memory other(3 * pages);
  const operation::Operation asked = product(other);
  std::atomic<bool> ended{false};
  std::thread busy([&] {
    while (!ended)
      for (runtime::DeviceContext* const context : devices.all()) context->policies().front()->estimate(asked);
  });
  std::vector<std::thread> running;
  const auto memories = memories_apart(threads);
  for (const auto& memory : memories) running.emplace_back([&] { work(*memory); });
  for (std::thread& thread : running) thread.join();
  ended = true;
  busy.join();
  EXPECT_EQ(brought, threads * 2 * pages * platform::page_size());
}

/// Bringing the matrices over a slow link takes longer than waiting for the device that has them.
TEST(DeviceSet, TheModelWeighsMissingBytesAgainstWaitingWork) {
  if (!tracking::open_page_tracker()) GTEST_SKIP() << "nothing tracks pages here";
  DeviceSet& devices = test::open_simulated(2, config::SplitMode::never);
  const test::Memory memory(3 * pages);
  memory.touch();
  const operation::Operation operation = product(memory);
  const reference::ReferenceRoutine host;
  const runtime::Placement first = devices.take(operation);
  report::Record record;
  ASSERT_EQ(runtime::offload(*first.context, operation, host, record), report::Refusal::none);
  devices.give_back(first, operation);
  const auto goes_elsewhere = [&](double link) {
    static std::vector<std::unique_ptr<decide::MachineModel>> models;  // a device refers to its model
    models.push_back(std::make_unique<decide::MachineModel>());
    models.back()->to_device = link;
    devices.use(*models.back());
    constexpr double flops = 1e9;  // 0.1 ms
    first.context->begin_call(flops);
    const runtime::Placement placement = devices.take(operation);
    devices.give_back(placement, operation);
    first.context->end_call(flops);
    return placement.context != first.context;
  };
  EXPECT_FALSE(goes_elsewhere(1e9));
  EXPECT_TRUE(goes_elsewhere(1e11));
}

}  // namespace
