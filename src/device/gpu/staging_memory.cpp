#include "device/gpu/staging_memory.h"

#include <fmt/format.h>

#include "platform/huge_pages.h"

namespace blastoff::device::cuda {
namespace {

constexpr unsigned flags = api::host_portable | api::host_device_map;

}  // namespace

Result<void*> StagingMemory::allocate(std::size_t bytes) {
  if (bytes >= platform::huge_page && can_register_)
    if (void* const memory = map_and_register(bytes)) return memory;
  void* memory = nullptr;
  const auto allocated = context_->run([&] {
    return context_->check_attempt(context_->driver().cuMemHostAlloc(&memory, bytes == 0 ? 1 : bytes, flags),
                                   fmt::format("cuMemHostAlloc of {} bytes", bytes));
  });
  if (!allocated) return tl::unexpected(allocated.error());
  return memory;
}

void StagingMemory::free(void* address) {
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = mapped_.find(address); found != mapped_.end()) {
      bytes = found->second;
      mapped_.erase(found);
    }
  }
  if (bytes == 0) {
    (void)context_->run(
        [&] { return context_->check_attempt(context_->driver().cuMemFreeHost(address), "cuMemFreeHost"); });
    return;
  }
  const auto ended = context_->run(
      [&] { return context_->check_attempt(context_->driver().cuMemHostUnregister(address), "cuMemHostUnregister"); });
  // A lost GPU may still write to this memory.
  if (ended) platform::unmap_huge_pages(address, bytes);
}

void* StagingMemory::map_and_register(std::size_t bytes) {
  const std::size_t whole = (bytes + platform::huge_page - 1) / platform::huge_page * platform::huge_page;
  void* const memory = platform::map_huge_pages(whole);
  if (memory == nullptr) return nullptr;
  const auto locked = context_->run([&] {
    return context_->check_attempt(context_->driver().cuMemHostRegister_v2(memory, whole, flags),
                                   fmt::format("cuMemHostRegister of {} bytes", whole));
  });
  if (!locked) {
    platform::unmap_huge_pages(memory, whole);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  mapped_.emplace(memory, whole);
  return memory;
}

}  // namespace blastoff::device::cuda
