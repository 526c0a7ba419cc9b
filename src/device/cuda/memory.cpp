#include "device/cuda/memory.h"

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
      driver.cuMemRelease(memory);  // the mapping alone keeps the memory from here on
      if (!mapped) return mapped;
      const api::CUmemAccessDesc access{properties.location, api::access_read_write};
      auto accessible = context_->check_attempt(driver.cuMemSetAccess(address, bytes, &access, 1), "cuMemSetAccess");
      if (!accessible) driver.cuMemUnmap(address, bytes);
      return accessible;
    });
  });
}

void Memory::unback(Address address, std::size_t bytes) {
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
