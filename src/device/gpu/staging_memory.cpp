#include "device/gpu/staging_memory.h"

#include <fmt/format.h>

#include "platform/huge_pages.h"

namespace blastoff::device::gpu {
namespace {

constexpr unsigned flags = host_portable | host_device_map;

}  // namespace

Result<void*> StagingMemory::allocate(std::size_t bytes) {
  if (bytes >= platform::huge_page && can_register_)
    if (void* const memory = map_and_register(bytes)) return memory;
  void* memory = nullptr;
  const auto allocated = context_->run([&] {
    return context_->check_attempt(context_->driver().allocate_host(&memory, bytes == 0 ? 1 : bytes, flags),
                                   fmt::format("allocation of {} bytes of host memory", bytes));
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
        [&] { return context_->check_attempt(context_->driver().free_host(address), "freeing host memory"); });
    return;
  }
  const auto ended = context_->run([&] {
    return context_->check_attempt(context_->driver().unregister_host(address), "unregistering host memory");
  });
  // A lost GPU may still write to this memory.
  if (ended) platform::unmap_huge_pages(address, bytes);
}

void* StagingMemory::map_and_register(std::size_t bytes) {
  const std::size_t whole = (bytes + platform::huge_page - 1) / platform::huge_page * platform::huge_page;
  void* const memory = platform::map_huge_pages(whole);
  if (memory == nullptr) return nullptr;
  const auto locked = context_->run([&] {
    return context_->check_attempt(context_->driver().register_host(memory, whole, flags),
                                   fmt::format("registering {} bytes of host memory", whole));
  });
  if (!locked) {
    platform::unmap_huge_pages(memory, whole);
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  mapped_.emplace(memory, whole);
  return memory;
}

}  // namespace blastoff::device::gpu
