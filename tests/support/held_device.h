// A device on which a test can hold one call of the driver: page-locking, unlocking, mapping or unmapping memory,
// asking about memory, creating an event.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "forwarding_device.h"

namespace blastoff::test {

/// Holds one call until the test lets it go on.
class HeldCall {
 public:
  void hold_next() { state_ = State::expected; }
  void wait_until_held() {
    while (state_ != State::held) state_.wait(State::expected);
  }
  void let_go() {
    state_ = State::free;
    state_.notify_all();
  }
  /// By the call.
  void pass() {
    State state = State::expected;
    if (!state_.compare_exchange_strong(state, State::held)) return;
    state_.notify_all();
    state_.wait(State::held);
  }

 private:
  enum class State { free, expected, held };
  std::atomic<State> state_{State::free};
};

struct HeldCalls {
  HeldCall pin;
  HeldCall unpin;
  HeldCall back;
  HeldCall unback;
  HeldCall reserve;
  HeldCall event;
  HeldCall question;         ///< whether the program has registered some memory
  std::atomic<int> pins{0};  ///< how many there are
};

/// It can pin, and counts that nowhere, like NVIDIA's driver.
class HeldDevice final : public ForwardingDevice {
 public:
  HeldDevice(std::unique_ptr<device::Device> inner, std::shared_ptr<HeldCalls> calls)
      : ForwardingDevice(std::move(inner)), properties_(this->inner().properties()), calls_(std::move(calls)) {
    properties_.can_pin = true;
  }

  const device::Properties& properties() const override { return properties_; }
  device::Status back(device::MemoryClient client, device::Address address, std::size_t bytes) override {
    calls_->back.pass();
    return ForwardingDevice::back(client, address, bytes);
  }
  void unback(device::Address address, std::size_t bytes) override {
    calls_->unback.pass();
    ForwardingDevice::unback(address, bytes);
  }
  device::Result<device::Address> reserve(std::size_t bytes) override {
    calls_->reserve.pass();
    return ForwardingDevice::reserve(bytes);
  }
  device::Result<std::unique_ptr<device::Event>> create_event() override {
    calls_->event.pass();
    return ForwardingDevice::create_event();
  }
  device::Status pin(void*, std::size_t) override {
    calls_->pin.pass();
    ++calls_->pins;
    return {};
  }
  void unpin(void*, std::size_t) override {
    calls_->unpin.pass();
    --calls_->pins;
  }
  bool may_pin() override { return true; }
  bool registered_by_program(const void* address) override {
    calls_->question.pass();
    return ForwardingDevice::registered_by_program(address);
  }

 private:
  device::Properties properties_;
  std::shared_ptr<HeldCalls> calls_;
};

}  // namespace blastoff::test
