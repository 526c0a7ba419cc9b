// Code that the contract tests of devices share. Each test runs on every implementation that this machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/open.h"
#include "fake_hip/hip_device.h"

namespace blastoff::test {

/// The message of a failed Result or Status, for assertions.
template <class T>
std::string message_of(const device::Result<T>& result) {
  return result ? "" : result.error().message;
}

#define ASSERT_OK(expression) ASSERT_EQ(::blastoff::test::message_of(expression), "")
#define EXPECT_OK(expression) EXPECT_EQ(::blastoff::test::message_of(expression), "")

using Bytes = std::vector<unsigned char>;

/// `count` bytes that depend on the seed; no two neighbours are equal.
inline Bytes pattern(std::size_t count, unsigned seed) {
  Bytes bytes(count);
  std::uint32_t state = seed * 2654435761U + 1;
  for (auto& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return bytes;
}

/// Base of suites that are instantiated with BLASTOFF_EVERY_DEVICE: simulated, cuda, and hip, which no driver but the
/// fake one has. Devices are opened once and stay open, as in the library. Without a GPU, its tests are skipped with
/// the reason, unless REQUIRE_GPU is set, or FAKE_GPU_ACCESS, which chooses the form of the fake GPU.
class DeviceTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    static auto& opened = *new std::map<std::string, device::Result<std::unique_ptr<device::Device>>>;
    auto found = opened.find(GetParam());
    if (found == opened.end()) {
      device::Choice choice;
      choice.name = GetParam();
      found = opened.emplace(GetParam(), choice.name == "hip" ? fake_hip::open(choice) : device::open(choice)).first;
    }
    if (found->second) {
      device_ = found->second->get();
    } else if (std::getenv("REQUIRE_GPU") != nullptr || std::getenv("FAKE_GPU_ACCESS") != nullptr) {
      FAIL() << found->second.error().message;
    } else {
      GTEST_SKIP() << found->second.error().message;
    }
  }

  bool simulated() const { return device_->properties().kind == "simulated"; }

  std::unique_ptr<device::Queue> queue() {
    auto created = device_->create_queue();
    EXPECT_OK(created);
    return created ? std::move(*created) : nullptr;
  }

  std::unique_ptr<device::Event> event() {
    auto created = device_->create_event();
    EXPECT_OK(created);
    return created ? std::move(*created) : nullptr;
  }

  device::Device* device_ = nullptr;
};

/// Device memory that the destructor frees.
class DeviceMemory {
 public:
  DeviceMemory(device::Device& device, std::size_t bytes) : device_(device) {
    auto allocated = device.allocate(device::MemoryClient::copies, bytes);
    EXPECT_OK(allocated);
    address_ = allocated.value_or(0);
  }
  ~DeviceMemory() { device_.free(address_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  device::Address address() const { return address_; }

 private:
  device::Device& device_;
  device::Address address_ = 0;
};

/// A block that consists of one run of bytes.
inline device::Block run_of(std::size_t bytes) {
  return {bytes, 1, bytes, bytes};
}

inline void upload(device::Queue& queue, device::Address to, const Bytes& bytes) {
  ASSERT_OK(queue.copy_to_device(to, bytes.data(), run_of(bytes.size())));
  ASSERT_OK(queue.synchronize());
}

inline Bytes download(device::Queue& queue, device::Address from, std::size_t count) {
  Bytes bytes(count);
  EXPECT_OK(queue.copy_to_host(bytes.data(), from, run_of(count)));
  EXPECT_OK(queue.synchronize());
  return bytes;
}

#define BLASTOFF_EVERY_DEVICE(suite)                                             \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values("simulated", "cuda", "hip"), \
                           [](const auto& instance) { return std::string(instance.param); })

}  // namespace blastoff::test
