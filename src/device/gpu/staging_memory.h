// Page-locked memory that Blastoff allocates. The GPU copies from and to it at the full rate of the link.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/gpu/context.h"

namespace blastoff::device::gpu {

/// Thread-safe. Large pieces are huge pages that are populated before the driver locks them. On an H200 node, 144 MiB
/// took 26 ms, with 3 ms in the driver. The driver's own function took 49 ms, and keeps other calls of the driver
/// waiting meanwhile.
class StagingMemory {
 public:
  StagingMemory(std::shared_ptr<Context> context, bool can_register)
      : context_(std::move(context)), can_register_(can_register) {}

  Result<void*> allocate(std::size_t bytes);
  void free(void* address);

 private:
  void* map_and_register(std::size_t bytes);  ///< nullptr if the system or the driver refuses

  const std::shared_ptr<Context> context_;
  const bool can_register_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> mapped_;  ///< bytes by address; others are the driver's
};

}  // namespace blastoff::device::gpu
