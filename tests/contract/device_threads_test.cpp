// Many threads at once, each with its own queues.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "device/queue_pool.h"
#include "device_fixture.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff::test {
namespace {

class DeviceThreadsTest : public DeviceTest {};
BLASTOFF_EVERY_DEVICE(DeviceThreadsTest);

/// Runs one product through a call's three queues, as a policy does. Returns "" if the result is right.
std::string run_product(device::Device& device, device::CallQueues& queues, std::uint64_t seed) {
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
    note(queues.upload->copy_to_device(*address, operand.address, run_of(operand.span_bytes())));
    operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(*address));
  }
  note(queues.upload->record(**uploaded));
  note(queues.compute->wait(**uploaded));
  note(queues.compute->execute(on_device, host));
  note(queues.compute->record(**computed));
  note(queues.download->wait(**computed));
  auto actual = test.result();
  note(queues.download->copy_to_host(actual.data(), addresses.back(), run_of(test.call().result().span_bytes())));
  note(queues.download->synchronize());
  for (const auto address : addresses) device.free(address);
  auto expected = test.result();
  reference::compute(test.with_result(expected));
  if (problem.empty() && !(test.difference(expected, actual) <= rounding)) problem = "wrong result";
  return problem;
}

TEST_P(DeviceThreadsTest, EachThreadComputesInItsOwnQueues) {
  device::QueuePool pool(*device_, 64);
  std::vector<std::thread> threads;
  std::vector<std::string> problems(8);
  for (std::size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t call = 0; call < 20 && problems[t].empty(); ++call) {
        auto queues = pool.acquire();
        problems[t] = queues ? run_product(*device_, **queues, 100 * t + call) : queues.error().message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& problem : problems) EXPECT_EQ(problem, "");
}

TEST_P(DeviceThreadsTest, ManyThreadsShareAFewQueues) {
  constexpr std::size_t most = 3;
  device::QueuePool pool(*device_, most);
  std::mutex mutex;
  std::set<const device::CallQueues*> queue_pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 10; ++call) {
        auto queues = pool.acquire();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(queues);
        if (queues) queue_pool.insert(&**queues);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(queue_pool.size(), 1u);
  EXPECT_LE(queue_pool.size(), most);
}

TEST_P(DeviceThreadsTest, ShortWaitsAreWorthNoQueues) {
  device::QueuePool pool(*device_, 64);
  std::mutex mutex;
  std::set<const device::CallQueues*> queue_pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < 5; ++call) {
        auto queues = pool.acquire();
        ASSERT_OK(queues);
        const std::lock_guard lock(mutex);
        queue_pool.insert(&**queues);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(queue_pool.size(), 1U);
}

TEST_P(DeviceThreadsTest, AThreadGetsItsLaneBack) {
  device::QueuePool pool(*device_, 64);
  const device::CallQueues* mine = nullptr;
  const device::CallQueues* other = nullptr;
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
