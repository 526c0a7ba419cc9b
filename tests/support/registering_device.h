// A device with which the program itself has registered memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "platform/span.h"

namespace blastoff::support {

/// What the program has registered. To be changed while no call runs.
struct Registrations {
  std::vector<platform::Span> spans;
  std::atomic<int> questions{0};
};

class RegisteringDevice final : public device::Device {
 public:
  RegisteringDevice(std::unique_ptr<device::Device> inner, std::shared_ptr<Registrations> registrations)
      : inner_(std::move(inner)), registrations_(std::move(registrations)) {}

  const device::Properties& properties() const override { return inner_->properties(); }
  device::Result<device::MemoryInfo> memory_info() override { return inner_->memory_info(); }
  device::Result<std::unique_ptr<device::Queue>> create_queue() override { return inner_->create_queue(); }
  device::Result<std::unique_ptr<device::Event>> create_event() override { return inner_->create_event(); }
  device::Result<device::Address> allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void free(device::Address address) override { inner_->free(address); }
  device::Result<device::Address> reserve(std::size_t bytes) override { return inner_->reserve(bytes); }
  void release(device::Address address, std::size_t bytes) override { inner_->release(address, bytes); }
  device::Status back(device::Address address, std::size_t bytes) override { return inner_->back(address, bytes); }
  void unback(device::Address address, std::size_t bytes) override { inner_->unback(address, bytes); }
  device::Result<void*> allocate_staging(std::size_t bytes) override { return inner_->allocate_staging(bytes); }
  void free_staging(void* address, std::size_t bytes) override { inner_->free_staging(address, bytes); }
  device::Status pin(void* address, std::size_t bytes) override { return inner_->pin(address, bytes); }
  void unpin(void* address, std::size_t bytes) override { inner_->unpin(address, bytes); }
  bool registered_by_program(const void* address) override {
    ++registrations_->questions;
    const auto byte = reinterpret_cast<std::uintptr_t>(address);
    return std::any_of(registrations_->spans.begin(), registrations_->spans.end(), [&](platform::Span span) {
      return span.contains({byte, byte + 1});
    });
  }

 private:
  std::unique_ptr<device::Device> inner_;
  std::shared_ptr<Registrations> registrations_;
};

}  // namespace blastoff::support
