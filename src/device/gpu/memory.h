// The GPU's memory, with an account of who holds it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "device/gpu/context.h"
#include "device/memory_accountant.h"
#include "device/memory_pool.h"

namespace blastoff::device::gpu {

/// Shared by a device and its queues. Thread-safe. The context need not be current.
class Memory {
 public:
  explicit Memory(std::shared_ptr<Context> context);

  MemoryAccountant& accountant() { return accountant_; }

  /// As in Device.
  Result<Address> allocate(MemoryClient client, std::size_t bytes);
  void free(Address address);
  Status back(MemoryClient client, Address address, std::size_t bytes);
  void unback(Address address, std::size_t bytes);

  /// For operations of a stream, which run in order and share the workspace: makes it at least `bytes`. Where it has to
  /// grow, waits for the stream, and the contents are lost.
  Status grow(PooledMemory& workspace, std::size_t bytes, StreamHandle stream);
  /// Frees the workspaces that no stream has.
  void trim() { workspaces_.trim(); }

  /// Lets another GPU use memory that back() maps, now and later. (Context::reach() does the same for memory of
  /// allocate().)
  Status share_with(int reader);

 private:
  template <class Attempt>
  auto with_room(Attempt&& attempt);
  Status set_access(Address address, std::size_t bytes, std::span<const int> users);

  const std::shared_ptr<Context> context_;
  MemoryAccountant accountant_;
  std::mutex sharing_mutex_;  ///< also held when memory has been mapped, since each mapping is made for all readers
  std::vector<int> readers_;
  std::map<Address, std::size_t> mappings_;  ///< bytes
  MemoryPool workspaces_;
};

}  // namespace blastoff::device::gpu
