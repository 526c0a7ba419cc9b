// Engines over simulated devices, for the tests of blocks.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "blocks/engine.h"
#include "delayed_device.h"
#include "device/open.h"

namespace blastoff::blocks {

/// What devices promise of copies from one to the other.
enum class Direct : std::uint8_t { kept, refused, broken };

struct RigSettings {
  int devices = 1;
  std::size_t device_memory = std::size_t{64} << 20;
  bool delayed = false;    ///< work runs late, on threads of its own
  std::string fault = {};  ///< of the first device
  Direct direct = Direct::kept;
  unsigned seed = 1;
  int streams = usual_streams;
};

class LonelyDevice final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  bool copies_from(device::Device&) override { return false; }
};

/// Promises direct copies, and loses what is copied.
class LosingDevice final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  device::Result<std::unique_ptr<device::Queue>> create_queue() override {
    auto queue = inner().create_queue();
    if (!queue) return queue;
    return std::make_unique<LosingQueue>(std::move(*queue));
  }

 private:
  class LosingQueue final : public test::ForwardingQueue {
   public:
    using ForwardingQueue::ForwardingQueue;
    device::Status copy_between(device::Address, device::Address, std::size_t) override { return {}; }
  };
};

/// The devices, the tracker and the engine.
class Rig {
 public:
  explicit Rig(const RigSettings& settings, bool watches = false) {
    Setup setup;
    for (int i = 0; i < settings.devices; ++i) {
      device::Choice choice;
      choice.name = "simulated";
      choice.simulated_memory = settings.device_memory;
      if (i == 0) choice.simulated_fault = settings.fault;
      auto device = device::open(choice).value();
      if (settings.delayed) {
        constexpr int longest_delay = 200;
        device = test::delayed(std::move(device), settings.seed + static_cast<unsigned>(i), longest_delay);
      }
      if (settings.direct == Direct::refused) device = std::make_unique<LonelyDevice>(std::move(device));
      if (settings.direct == Direct::broken) device = std::make_unique<LosingDevice>(std::move(device));
      devices_.push_back(std::move(device));
      setup.devices.push_back(devices_.back().get());
    }
    if (watches) {
      if (auto tracker = tracking::open_page_tracker(tracking::TrackerKind::uffd))
        ledger_ = std::make_unique<ledger::Ledger>(std::move(*tracker));
      setup.ledger = ledger_.get();
    }
    engine_ = std::make_unique<Engine>(std::move(setup));
    Options options;
    options.streams = settings.streams;
    engine_->set_options(options);
  }

  Engine& engine() { return *engine_; }
  device::Device& device(int place) { return *devices_[static_cast<std::size_t>(place)]; }
  /// Whether the kernel tells here what is written.
  bool watches() const { return ledger_ != nullptr; }

  std::unique_ptr<Block> block(std::size_t bytes) { return std::make_unique<Block>(*engine_, bytes, nullptr); }
  std::unique_ptr<Block> block_over(void* memory, std::size_t bytes) {
    auto watched = engine_->watch_memory(memory, bytes);
    EXPECT_TRUE(watched) << watched.error().message;
    return std::make_unique<Block>(*engine_, bytes, std::move(*watched));
  }
  /// Null where the device has failed.
  std::unique_ptr<device::Queue> stream(int place) {
    auto queue = device(place).create_queue();
    if (!queue) queue = device(place).create_queue();  // after a fault that passes
    return queue ? std::move(*queue) : nullptr;
  }

 private:
  std::vector<std::unique_ptr<device::Device>> devices_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<Engine> engine_;
};

/// "" where there is none.
template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}
#define ASSERT_DONE(expression) ASSERT_EQ(::blastoff::blocks::message_of(expression), "")
#define EXPECT_DONE(expression) EXPECT_EQ(::blastoff::blocks::message_of(expression), "")

/// What it failed with.
template <class T>
testing::AssertionResult fails_with(const Result<T>& result, ErrorKind kind) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  if (result.error().kind == kind) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "kind " << static_cast<int>(result.error().kind) << ": "
                                     << result.error().message;
}

template <class T>
T* at(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

}  // namespace blastoff::blocks
