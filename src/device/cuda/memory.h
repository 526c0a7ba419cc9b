// The GPU's memory, on account of its users.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/context.h"
#include "device/memory_accountant.h"

namespace blastoff::device::cuda {

/// Shared by a device and its queues. Thread-safe. The context need not be current.
class Memory {
 public:
  explicit Memory(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  MemoryAccountant& accountant() { return accountant_; }

  /// See Device.
  Result<Address> allocate(MemoryClient client, std::size_t bytes);
  void free(Address address);
  Status back(MemoryClient client, Address address, std::size_t bytes);
  void unback(Address address, std::size_t bytes);

  /// Lets another GPU reach what back() maps, now and later. (What allocate() returns it reaches by Context::reach().)
  Status share_with(api::CUdevice reader);

 private:
  Status set_access(Address address, std::size_t bytes, const std::vector<api::CUdevice>& users);

  const std::shared_ptr<Context> context_;
  MemoryAccountant accountant_;
  std::mutex sharing_mutex_;  ///< while memory is mapped, too: each mapping is made for all readers that there are
  std::vector<api::CUdevice> readers_;
  std::map<Address, std::size_t> mappings_;  ///< bytes
};

/// What an executor's operations need besides their operands, for one stream: operations that run in order share it.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~Workspace() { memory_->free(address_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Makes it at least `bytes` large. To grow it waits for work that uses it, and its contents are lost.
  Status grow(std::size_t bytes);
  Address address() const { return address_; }

 private:
  const std::shared_ptr<Memory> memory_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace blastoff::device::cuda
