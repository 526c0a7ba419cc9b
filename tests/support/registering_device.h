// A device on which the program itself has registered memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "forwarding_device.h"
#include "platform/span.h"

namespace blastoff::test {

/// The memory that the program has registered. Change it only while no call runs.
struct Registrations {
  std::vector<platform::Span> spans;
  std::atomic<int> questions{0};
};

class RegisteringDevice final : public ForwardingDevice {
 public:
  RegisteringDevice(std::unique_ptr<device::Device> inner, std::shared_ptr<Registrations> registrations)
      : ForwardingDevice(std::move(inner)), registrations_(std::move(registrations)) {}

  bool registered_by_program(const void* address) override {
    ++registrations_->questions;
    const auto byte = reinterpret_cast<std::uintptr_t>(address);
    return std::any_of(registrations_->spans.begin(), registrations_->spans.end(), [&](platform::Span span) {
      return span.contains({byte, byte + 1});
    });
  }

 private:
  std::shared_ptr<Registrations> registrations_;
};

}  // namespace blastoff::test
