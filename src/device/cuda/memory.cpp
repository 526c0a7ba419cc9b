#include "device/cuda/memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "device/cuda/gpu.h"

namespace blastoff::device::cuda {

Result<Address> Memory::allocate(MemoryClient client, std::size_t bytes) {
  return accountant_.charge(client, bytes, [&]() -> Result<Address> {
    api::CUdeviceptr address = 0;
    auto allocated = context_->run([&] {
      return context_->check(context_->driver().cuMemAlloc_v2(&address, bytes == 0 ? 1 : bytes),
                             fmt::format("cuMemAlloc of {} bytes for {}", bytes, to_string(client)));
    });
    return std::move(allocated).map([&]() -> Address { return address; });
  });
}

void Memory::free(Address address) {
  if (address == 0) return;
  accountant_.discharge(address);
  (void)context_->run([&] { return context_->check(context_->driver().cuMemFree_v2(address), "cuMemFree"); });
}

Status Memory::back(MemoryClient client, Address address, std::size_t bytes) {
  const api::Driver& driver = context_->driver();
  return accountant_.charge(client, address, bytes, [&] {
    return context_->run([&]() -> Status {
      const auto properties = allocation_properties(context_->device());
      api::CUmemGenericAllocationHandle memory = 0;
      if (auto ok = context_->check_attempt(driver.cuMemCreate(&memory, bytes, &properties, 0),
                                            fmt::format("cuMemCreate of {} bytes", bytes));
          !ok) {
        return ok;
      }
      auto mapped = context_->check_attempt(driver.cuMemMap(address, bytes, 0, memory, 0), "cuMemMap");
      driver.cuMemRelease(memory);  // from here on the mapping keeps the memory
      if (!mapped) return mapped;
      auto accessible = set_access(address, bytes, {context_->device()});
      const std::lock_guard lock(sharing_mutex_);
      if (accessible && !readers_.empty()) accessible = set_access(address, bytes, readers_);
      if (accessible)
        mappings_.emplace(address, bytes);
      else
        driver.cuMemUnmap(address, bytes);
      return accessible;
    });
  });
}

/// The context must be current.
Status Memory::set_access(Address address, std::size_t bytes, const std::vector<api::CUdevice>& users) {
  std::vector<api::CUmemAccessDesc> access;
  access.reserve(users.size());
  for (const api::CUdevice user : users) access.push_back({{api::location_device, user}, api::access_read_write});
  return context_->check_attempt(context_->driver().cuMemSetAccess(address, bytes, access.data(), access.size()),
                                 "cuMemSetAccess");
}

Status Memory::share_with(api::CUdevice reader) {
  const std::lock_guard lock(sharing_mutex_);
  if (std::ranges::find(readers_, reader) != readers_.end()) return {};
  auto shared = context_->run([&]() -> Status {
    for (const auto& [address, bytes] : mappings_)
      if (auto ok = set_access(address, bytes, {reader}); !ok) return ok;
    return {};
  });
  if (shared) readers_.push_back(reader);
  return shared;
}

void Memory::unback(Address address, std::size_t bytes) {
  {
    const std::lock_guard lock(sharing_mutex_);
    mappings_.erase(address);
  }
  accountant_.discharge(address);
  (void)context_->run(
      [&] { return context_->check_attempt(context_->driver().cuMemUnmap(address, bytes), "cuMemUnmap"); });
}

Status Workspace::grow(std::size_t bytes) {
  if (bytes <= bytes_) return {};
  memory_->free(std::exchange(address_, 0));
  bytes_ = 0;
  const auto allocated = memory_->allocate(MemoryClient::workspaces, bytes);
  if (!allocated) return tl::unexpected(allocated.error());
  address_ = *allocated;
  bytes_ = bytes;
  return {};
}

}  // namespace blastoff::device::cuda
