// Page-locked memory of Blastoff's own, from and to which the GPU copies at the link's full rate.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "device/cuda/context.h"

namespace blastoff::device::cuda {

/// Thread-safe. Large pieces are huge pages that are populated before the driver locks them: on an H200 node 144 MiB
/// took 26 ms, of which the driver had 3, and cuMemHostAlloc, which keeps other calls of the driver waiting
/// meanwhile, 49.
class StagingMemory {
 public:
  StagingMemory(std::shared_ptr<Context> context, bool can_register)
      : context_(std::move(context)), can_register_(can_register) {}

  Result<void*> allocate(std::size_t bytes);
  void free(void* address);

 private:
  void* map_and_register(std::size_t bytes);  ///< nullptr: the system or the driver refuses

  const std::shared_ptr<Context> context_;
  const bool can_register_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> mapped_;  ///< by us, with their bytes; the others are the driver's
};

}  // namespace blastoff::device::cuda
