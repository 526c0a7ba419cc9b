#include "pinning_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace blastoff::test {
namespace {

/// Device addresses are host addresses, as the simulated device's are.
class PinningQueue final : public ForwardingQueue {
 public:
  /// `lost`: set when the queue's device is lost, after which it copies nothing.
  PinningQueue(std::unique_ptr<device::Queue> inner, std::shared_ptr<Pinned> pinned,
               std::shared_ptr<std::atomic<bool>> lost)
      : ForwardingQueue(std::move(inner)), pinned_(std::move(pinned)), lost_(std::move(lost)) {}

  device::Status copy_to_device(device::Address destination, const void* source, const device::Block& block) override {
    if (*lost_) return ForwardingQueue::copy_to_device(destination, source, block);
    for (std::size_t j = 0; j < block.columns; ++j) {
      const char* column = static_cast<const char*>(source) + j * block.host_pitch;
      char* to = reinterpret_cast<char*>(destination) + j * block.device_pitch;
      if (!pinned_->read(to, column, block.column_bytes))
        return seen(ForwardingQueue::copy_to_device(destination, source, block));
    }
    return {};
  }
  device::Status copy_to_host(void* destination, device::Address source, const device::Block& block) override {
    if (*lost_) return ForwardingQueue::copy_to_host(destination, source, block);
    for (std::size_t j = 0; j < block.columns; ++j) {
      char* column = static_cast<char*>(destination) + j * block.host_pitch;
      const char* from = reinterpret_cast<const char*>(source) + j * block.device_pitch;
      if (!pinned_->write(column, from, block.column_bytes))
        return seen(ForwardingQueue::copy_to_host(destination, source, block));
    }
    return {};
  }
  device::Status copy_triangle_to_host(void* destination, device::Address source,
                                       const device::Triangle& triangle) override {
    if (*lost_) return tl::unexpected(device::Error{device::ErrorKind::lost, "it was lost before"});
    for (std::int64_t j = 0; j < triangle.order; ++j) {
      const std::int64_t top = j / triangle.block_order * triangle.block_order;
      const bool upper = triangle.part == operation::Part::upper;
      const auto row = static_cast<std::size_t>(upper ? top : j);
      const auto end = static_cast<std::size_t>(upper ? j + 1 : std::min(triangle.order, top + triangle.block_order));
      const std::size_t first = row * triangle.element_size;
      const std::size_t bytes = (end - row) * triangle.element_size;
      char* column = static_cast<char*>(destination) + static_cast<std::size_t>(j) * triangle.host_pitch + first;
      const char* from =
          reinterpret_cast<const char*>(source) + static_cast<std::size_t>(j) * triangle.device_pitch + first;
      EXPECT_TRUE(pinned_->write(column, from, bytes)) << "a triangle goes to memory that is not pinned";
    }
    return {};
  }

  device::Status execute(const operation::Operation& operation, const operation::Host& host) override {
    return seen(ForwardingQueue::execute(operation, host));
  }

 private:
  device::Status seen(device::Status status) {
    if (!status && status.error().kind == device::ErrorKind::lost) *lost_ = true;
    return status;
  }

  std::shared_ptr<Pinned> pinned_;
  std::shared_ptr<std::atomic<bool>> lost_;
};

class PinningDevice final : public ForwardingDevice {
 public:
  PinningDevice(std::unique_ptr<device::Device> simulated, std::shared_ptr<Pinned> pinned)
      : ForwardingDevice(std::move(simulated)), properties_(inner().properties()), pinned_(std::move(pinned)) {
    properties_.can_pin = true;
  }

  const device::Properties& properties() const override { return properties_; }
  device::Result<std::unique_ptr<device::Queue>> create_queue() override {
    auto queue = inner().create_queue();
    if (!queue) return queue;
    return std::make_unique<PinningQueue>(std::move(*queue), pinned_, lost_);
  }
  bool may_pin() override { return pinned_->allowed(); }
  device::Status pin(void* address, std::size_t bytes) override {
    if (pinned_->add(address, bytes)) return {};
    return tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "the kernel does not pin that much"});
  }
  void unpin(void* address, std::size_t bytes) override { pinned_->remove(address, bytes); }

 private:
  device::Properties properties_;
  std::shared_ptr<Pinned> pinned_;
  std::shared_ptr<std::atomic<bool>> lost_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

bool can_pin() {
  alignas(4096) static char page[4096];
  const auto buffer = RegisteredBuffer::create(page, sizeof page);
  return buffer && buffer->write(page, "pinned", 7) && page[0] == 'p';
}

std::unique_ptr<device::Device> pinning(std::unique_ptr<device::Device> simulated, std::shared_ptr<Pinned> pinned) {
  return std::make_unique<PinningDevice>(std::move(simulated), std::move(pinned));
}

}  // namespace blastoff::test
