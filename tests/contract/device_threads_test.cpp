// Many threads at once, each with its own lane.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "device/lane_pool.h"
#include "device_fixture.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff::test {
namespace {

class DeviceThreadsTest : public DeviceTest {};
BLASTOFF_EVERY_DEVICE(DeviceThreadsTest);

/// Runs one product through a lane's three queues, as a policy does. Returns "" if the result is right.
std::string run_product(device::Device& device, device::Lane& lane, std::uint64_t seed) {
  const reference::ReferenceRoutine host;
  const TestCall test(blas::Routine::dgemm, {}, 40, 30, 20, 1, 0.5, seed);
  blas::Call on_device = test.call();
  std::vector<device::Address> addresses;
  auto uploaded = device.create_event();
  auto computed = device.create_event();
  if (!uploaded || !computed) return message_of(uploaded) + message_of(computed);
  std::string problem;
  const auto note = [&](const device::Status& status) {
    if (!status && problem.empty()) problem = status.error().message;
  };
  for (auto& operand : on_device.operands()) {
    auto address = device.allocate(device::MemoryClient::copies, operand.span_bytes());
    if (!address) return address.error().message;
    addresses.push_back(*address);
    note(lane.upload->copy_to_device(*address, operand.address, run_of(operand.span_bytes())));
    operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(*address));
  }
  note(lane.upload->record(**uploaded));
  note(lane.compute->wait(**uploaded));
  note(lane.compute->execute(on_device, host));
  note(lane.compute->record(**computed));
  note(lane.download->wait(**computed));
  auto actual = test.result();
  note(lane.download->copy_to_host(actual.data(), addresses.back(), run_of(test.call().result().span_bytes())));
  note(lane.download->synchronize());
  for (const auto address : addresses) device.free(address);
  auto expected = test.result();
  reference::compute(test.with_result(expected));
  if (problem.empty() && !(test.difference(expected, actual) <= rounding)) problem = "wrong result";
  return problem;
}

TEST_P(DeviceThreadsTest, EachThreadComputesInItsOwnLane) {
  device::LanePool pool(*device_, 64);
  std::vector<std::thread> threads;
  std::vector<std::string> problems(8);
  for (std::size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t call = 0; call < 20 && problems[t].empty(); ++call) {
        auto lane = pool.acquire();
        problems[t] = lane ? run_product(*device_, **lane, 100 * t + call) : lane.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
}

TEST_P(DeviceThreadsTest, ManyThreadsShareAFewLanes) {
  constexpr std::size_t most = 3;
  device::LanePool pool(*device_, most);
  std::mutex mutex;
  std::set<const device::Lane*> lanes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 10; ++call) {
        auto lane = pool.acquire();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(lane);
        if (lane) lanes.insert(&**lane);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(lanes.size(), 1u);
  EXPECT_LE(lanes.size(), most);
}

TEST_P(DeviceThreadsTest, ShortWaitsAreWorthNoLane) {
  device::LanePool pool(*device_, 64);
  std::mutex mutex;
  std::set<const device::Lane*> lanes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 5; ++call) {
        auto lane = pool.acquire();
        ASSERT_OK(lane);
        const std::lock_guard lock(mutex);
        lanes.insert(&**lane);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(lanes.size(), 1U);
}

TEST_P(DeviceThreadsTest, AThreadGetsItsLaneBack) {
  device::LanePool pool(*device_, 64);
  const device::Lane* mine = nullptr;
  const device::Lane* other = nullptr;
  {
    auto held = pool.acquire();
    ASSERT_OK(held);
    mine = &**held;
    std::thread([&] { other = &**pool.acquire(); }).join();
  }
  EXPECT_NE(mine, other);
  for (int i = 0; i < 3; ++i) {
    auto again = pool.acquire();
    ASSERT_OK(again);
    EXPECT_EQ(&**again, mine);
    auto second = pool.acquire();
    ASSERT_OK(second);
    EXPECT_EQ(&**second, other) << "an idle lane is taken before a new one is made";
  }
}

TEST_P(DeviceThreadsTest, MemoryComesAndGoesUnderManyThreads) {
  if (!device_->properties().can_reserve) GTEST_SKIP() << "no virtual memory management on this device";
  const auto granularity = device_->properties().backing_granularity;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = queue();
      const auto base = device_->reserve(4 * granularity);
      if (!base || stream == nullptr) {
        ++failures;
        return;
      }
      for (unsigned round = 0; round < 5; ++round) {
        const auto sent = pattern(granularity, 10 * t + round);
        if (!device_->back(device::MemoryClient::mirrors, *base + granularity, granularity)) ++failures;
        upload(*stream, *base + granularity, sent);
        if (download(*stream, *base + granularity, granularity) != sent) ++failures;
        device_->unback(*base + granularity, granularity);
      }
      device_->release(*base, 4 * granularity);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace blastoff::test
