// While libraries run that copy between the device and memory that they allocate by malloc, none of the program's
// memory is page-locked.
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "device/open.h"
#include "forwarding_device.h"
#include "pinning_device.h"
#include "reference_blas.h"
#include "runtime/device_context.h"
#include "runtime/offload.h"
#include "square_call.h"

namespace {

using namespace blastoff;

constexpr std::int64_t n = 64;
const std::size_t pages = test::pages_of_order(n);

bool is_solve(const operation::Operation& operation) {
  return blas::call_of(operation).routine == blas::Routine::dtrsm;
}

/// Solves are computed by a library that makes such copies.
class CopyingQueue final : public test::ForwardingQueue {
 public:
  CopyingQueue(std::unique_ptr<device::Queue> inner, std::shared_ptr<test::Pinned> pinned)
      : ForwardingQueue(std::move(inner)), pinned_(std::move(pinned)) {}

  bool copies_heap_memory(const operation::Operation& operation) override { return is_solve(operation); }
  device::Status execute(const operation::Operation& operation, const operation::Host& host) override {
    if (!is_solve(operation)) return ForwardingQueue::execute(operation, host);
    EXPECT_EQ(pinned_->count(), 0U) << "when it begins";
    auto executed = ForwardingQueue::execute(operation, host);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    EXPECT_EQ(pinned_->count(), 0U) << "when it ends";
    return executed;
  }

 private:
  std::shared_ptr<test::Pinned> pinned_;
};

class CopyingDevice final : public test::ForwardingDevice {
 public:
  CopyingDevice(std::unique_ptr<device::Device> inner, std::shared_ptr<test::Pinned> pinned)
      : ForwardingDevice(std::move(inner)), pinned_(std::move(pinned)) {}

  device::Result<std::unique_ptr<device::Queue>> create_queue() override {
    auto queue = inner().create_queue();
    if (!queue) return queue;
    return std::make_unique<CopyingQueue>(std::move(*queue), pinned_);
  }

 private:
  std::shared_ptr<test::Pinned> pinned_;
};

/// Opens a device that is never closed, as in a process.
runtime::DeviceContext& open(const std::shared_ptr<test::Pinned>& pinned) {
  config::Settings settings = config::read_settings();
  settings.policy = config::PolicyName::first_use;
  device::Choice choice;
  choice.name = "simulated";
  choice.simulated_memory = std::size_t{64} << 20;
  auto simulated = device::open(choice);
  EXPECT_TRUE(simulated);
  runtime::Parts parts;
  parts.device = std::make_unique<CopyingDevice>(test::pinning(std::move(*simulated), pinned), pinned);
  auto context = runtime::DeviceContext::assemble(std::move(parts), settings);
  EXPECT_TRUE(context);
  return *context->release();
}

void run(runtime::DeviceContext& context, const operation::Operation& operation) {
  const reference::ReferenceRoutine host;
  report::Record record;
  EXPECT_EQ(runtime::offload(context, operation, host, record), report::Refusal::none);
}

TEST(WithoutPins, NothingIsPageLockedWhileALibraryCopiesMemoryOfItsOwn) {
  if (!test::can_pin() || !tracking::open_page_tracker()) GTEST_SKIP() << "nothing can be pinned here";
  const auto pinned = std::make_shared<test::Pinned>();
  runtime::DeviceContext& context = open(pinned);
  std::atomic<bool> solving{true};
  std::vector<std::thread> products;
  for (int thread = 0; thread < 3; ++thread)
    products.emplace_back([&] {
      const test::Memory memory(3 * pages);
      memory.touch();
      while (solving) run(context, test::square_call(blas::Routine::dgemm, n, memory));
    });
  const test::Memory memory(3 * pages);
  memory.touch();
  for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<double*>(memory.page(0))[i * (n + 1)] = 1;
  for (int round = 0; round < 100; ++round) run(context, test::square_call(blas::Routine::dtrsm, n, memory));
  solving = false;
  for (std::thread& thread : products) thread.join();
  for (int round = 0; round < 2000 && pinned->count() == 0; ++round)
    run(context, test::square_call(blas::Routine::dgemm, n, memory));
  EXPECT_GT(pinned->count(), 0U) << "afterwards as before";
  run(context, test::square_call(blas::Routine::dtrsm, n, memory));
}

}  // namespace
