#include "device/gpu/memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace blastoff::device::gpu {

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
    Address address = 0;
    auto allocated = context_->run([&] {
      return context_->check(context_->driver().allocate(&address, bytes == 0 ? 1 : bytes),
                             fmt::format("allocation of {} bytes for {}", bytes, to_string(client)));
    });
    return std::move(allocated).map([&]() -> Address { return address; });
  };
  return accountant_.charge(client, bytes, [&] { return with_room(attempt); });
}

void Memory::free(Address address) {
  if (address == 0) return;
  accountant_.discharge(address);
  (void)context_->run([&] { return context_->check(context_->driver().free(address), "freeing memory"); });
}

Status Memory::back(MemoryClient client, Address address, std::size_t bytes) {
  const Driver& driver = context_->driver();
  const auto attempt = [&] {
    return context_->run([&]() -> Status {
      AllocationHandle memory = 0;
      if (auto ok = context_->check_attempt(driver.create_memory(&memory, bytes, context_->gpu()),
                                            fmt::format("allocation of {} bytes", bytes));
          !ok) {
        return ok;
      }
      auto mapped = context_->check_attempt(driver.map(address, bytes, 0, memory, 0), "mapping memory");
      driver.release_memory(memory);  // from here on the mapping keeps the memory
      if (!mapped) return mapped;
      auto accessible = set_access(address, bytes, std::array{context_->gpu()});
      const std::lock_guard lock(sharing_mutex_);
      if (accessible && !readers_.empty()) accessible = set_access(address, bytes, readers_);
      if (accessible)
        mappings_.emplace(address, bytes);
      else
        driver.unmap(address, bytes);
      return accessible;
    });
  };
  return accountant_.charge(client, address, bytes, [&] { return with_room(attempt); });
}

/// The context must be current.
Status Memory::set_access(Address address, std::size_t bytes, std::span<const int> users) {
  return context_->check_attempt(context_->driver().set_access(address, bytes, users), "access to mapped memory");
}

Status Memory::share_with(int reader) {
  const std::lock_guard lock(sharing_mutex_);
  if (std::ranges::find(readers_, reader) != readers_.end()) return {};
  auto shared = context_->run([&]() -> Status {
    for (const auto& [address, bytes] : mappings_)
      if (auto ok = set_access(address, bytes, std::array{reader}); !ok) return ok;
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
      [&] { return context_->check_attempt(context_->driver().unmap(address, bytes), "unmapping memory"); });
}

Status Memory::grow(PooledMemory& workspace, std::size_t bytes, StreamHandle stream) {
  if (workspace && bytes <= workspace.bytes()) return {};
  if (workspace) {
    auto ended = context_->run(
        [&] { return context_->check(context_->driver().synchronize_stream(stream), "waiting for a stream"); });
    if (!ended) return ended;
    workspace = {};
  }
  auto taken = workspaces_.take(bytes);
  if (!taken) return tl::unexpected(std::move(taken.error()));
  workspace = std::move(*taken);
  return {};
}

}  // namespace blastoff::device::gpu
