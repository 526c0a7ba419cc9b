// The GPU's memory, with an account of who holds it.
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

  /// As in Device.
  Result<Address> allocate(MemoryClient client, std::size_t bytes);
  void free(Address address);
  Status back(MemoryClient client, Address address, std::size_t bytes);
  void unback(Address address, std::size_t bytes);

  /// Lets another GPU use memory that back() maps, now and later. (Context::reach() does the same for memory of
  /// allocate().)
  Status share_with(api::CUdevice reader);

 private:
  Status set_access(Address address, std::size_t bytes, const std::vector<api::CUdevice>& users);

  const std::shared_ptr<Context> context_;
  MemoryAccountant accountant_;
  std::mutex sharing_mutex_;  ///< also held when memory has been mapped, since each mapping is made for all readers
  std::vector<api::CUdevice> readers_;
  std::map<Address, std::size_t> mappings_;  ///< bytes
};

/// Device memory that operations of an executor need besides their operands. One for each stream, whose operations run
/// in order and share it.
class Workspace {
 public:
  explicit Workspace(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~Workspace() { memory_->free(address_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Grows to at least `bytes`. Then waits for work that uses the memory, and loses its contents.
  Status grow(std::size_t bytes);
  Address address() const { return address_; }

 private:
  const std::shared_ptr<Memory> memory_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace blastoff::device::cuda
