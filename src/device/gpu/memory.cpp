#include "device/gpu/memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "device/gpu/choose_gpu.h"

namespace blastoff::device::cuda {

Memory::Memory(std::shared_ptr<Context> context)
    : context_(std::move(context)),
      workspaces_({[this](std::size_t bytes) { return allocate(MemoryClient::workspaces, bytes); },
                   [this](Address address, std::size_t) { free(address); }}) {}

/// Where the GPU is full, workspaces that nobody uses make room.
template <class Attempt>
auto Memory::with_room(Attempt&& attempt) {
  auto done = attempt();
  const bool full = !done && done.error().kind == ErrorKind::out_of_memory;
  return full && workspaces_.trim() ? attempt() : done;
}

Result<Address> Memory::allocate(MemoryClient client, std::size_t bytes) {
  const auto attempt = [&]() -> Result<Address> {
    api::CUdeviceptr address = 0;
    auto allocated = context_->run([&] {
      return context_->check(context_->driver().cuMemAlloc_v2(&address, bytes == 0 ? 1 : bytes),
                             fmt::format("cuMemAlloc of {} bytes for {}", bytes, to_string(client)));
    });
    return std::move(allocated).map([&]() -> Address { return address; });
  };
  return accountant_.charge(client, bytes, [&] { return with_room(attempt); });
}

void Memory::free(Address address) {
  if (address == 0) return;
  accountant_.discharge(address);
  (void)context_->run([&] { return context_->check(context_->driver().cuMemFree_v2(address), "cuMemFree"); });
}

Status Memory::back(MemoryClient client, Address address, std::size_t bytes) {
  const api::Driver& driver = context_->driver();
  const auto attempt = [&] {
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
  };
  return accountant_.charge(client, address, bytes, [&] { return with_room(attempt); });
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

Status Memory::grow(PooledMemory& workspace, std::size_t bytes, api::CUstream stream) {
  if (workspace && bytes <= workspace.bytes()) return {};
  if (workspace) {
    auto ended = context_->run(
        [&] { return context_->check(context_->driver().cuStreamSynchronize(stream), "cuStreamSynchronize"); });
    if (!ended) return ended;
    workspace = {};
  }
  auto taken = workspaces_.take(bytes);
  if (!taken) return tl::unexpected(std::move(taken.error()));
  workspace = std::move(*taken);
  return {};
}

}  // namespace blastoff::device::cuda
