// A device that forwards every call to another device; a test's device overrides the functions that differ.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device/device.h"

namespace blastoff::test {

class ForwardingQueue : public device::Queue {
 public:
  explicit ForwardingQueue(std::unique_ptr<device::Queue> inner) : inner_(std::move(inner)) {}

  device::Status copy_to_device(device::Address destination, const void* source, const device::Block& block) override {
    return inner_->copy_to_device(destination, source, block);
  }
  device::Status copy_to_host(void* destination, device::Address source, const device::Block& block) override {
    return inner_->copy_to_host(destination, source, block);
  }
  device::Status copy_triangle_to_host(void* destination, device::Address source,
                                       const device::Triangle& triangle) override {
    return inner_->copy_triangle_to_host(destination, source, triangle);
  }
  device::Status execute(const operation::Operation& operation, const operation::Host& host) override {
    return inner_->execute(operation, host);
  }
  bool copies_heap_memory(const operation::Operation& operation) override {
    return inner_->copies_heap_memory(operation);
  }
  device::Status permute(device::Address destination, device::Address source,
                         const device::Permutation& permutation) override {
    return inner_->permute(destination, source, permutation);
  }
  device::Status copy_between(device::Address destination, device::Address source, std::size_t bytes) override {
    return inner_->copy_between(destination, source, bytes);
  }
  device::Status prefetch(const void* address, std::size_t bytes) override { return inner_->prefetch(address, bytes); }
  device::Status record(device::Event& event) override { return inner_->record(event); }
  device::Status wait(device::Event& event) override { return inner_->wait(event); }
  device::Status synchronize() override { return inner_->synchronize(); }

 private:
  std::unique_ptr<device::Queue> inner_;
};

class ForwardingDevice : public device::Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<device::Device> inner) : inner_(std::move(inner)) {}

  const device::Properties& properties() const override { return inner_->properties(); }
  device::Result<device::MemoryInfo> memory_info() override { return inner_->memory_info(); }
  device::MemoryAccountant& accountant() override { return inner_->accountant(); }
  std::string software() override { return inner_->software(); }
  std::vector<device::Library> libraries() override { return inner_->libraries(); }
  device::Status prepare(const operation::Operation& operation) override { return inner_->prepare(operation); }
  device::Result<std::unique_ptr<device::Queue>> create_queue() override { return inner_->create_queue(); }
  device::Result<std::unique_ptr<device::Queue>> adopt_queue(void* stream) override {
    return inner_->adopt_queue(stream);
  }
  device::Result<std::unique_ptr<device::Event>> create_event() override { return inner_->create_event(); }
  bool copies_from(device::Device& other) override { return inner_->copies_from(other); }
  device::Status enter() override { return inner_->enter(); }
  void leave() override { inner_->leave(); }
  device::Result<device::Address> allocate(device::MemoryClient client, std::size_t bytes) override {
    return inner_->allocate(client, bytes);
  }
  void free(device::Address address) override { inner_->free(address); }
  device::Result<device::Address> reserve(std::size_t bytes) override { return inner_->reserve(bytes); }
  void release(device::Address address, std::size_t bytes) override { inner_->release(address, bytes); }
  device::Status back(device::MemoryClient client, device::Address address, std::size_t bytes) override {
    return inner_->back(client, address, bytes);
  }
  void unback(device::Address address, std::size_t bytes) override { inner_->unback(address, bytes); }
  device::Result<void*> allocate_staging(std::size_t bytes) override { return inner_->allocate_staging(bytes); }
  void free_staging(void* address, std::size_t bytes) override { inner_->free_staging(address, bytes); }
  bool used_by_program() override { return inner_->used_by_program(); }
  bool may_pin() override { return inner_->may_pin(); }
  device::Status pin(void* address, std::size_t bytes) override { return inner_->pin(address, bytes); }
  void unpin(void* address, std::size_t bytes) override { inner_->unpin(address, bytes); }
  bool registered_by_program(const void* address) override { return inner_->registered_by_program(address); }

 protected:
  device::Device& inner() { return *inner_; }

 private:
  std::unique_ptr<device::Device> inner_;
};

}  // namespace blastoff::test
