#include "residency/copy/device_buffers.h"

#include <algorithm>
#include <bit>

#include "platform/contained.h"

namespace blastoff::residency::copy {
namespace {

/// Sizes in steps of an eighth, so that calls of about the same size find each other's buffers.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t least = 4096;
  if (bytes <= least) return least;
  const std::size_t step = std::max(least, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

}  // namespace

Buffer::~Buffer() {
  if (pool_ != nullptr) pool_->give_back(address_, bytes_);
}

DeviceBuffers::~DeviceBuffers() {
  free_idle();
}

device::Result<Buffer> DeviceBuffers::take(std::size_t bytes) {
  const std::size_t rounded = size_class(bytes);
  const std::lock_guard lock(mutex_);
  const auto fitting = idle_.lower_bound(rounded);
  if (fitting != idle_.end() && fitting->first <= rounded + rounded / 2) {
    Buffer buffer(*this, fitting->second, fitting->first);
    idle_.erase(fitting);
    return buffer;
  }
  const auto allocate = [&] { return device_.allocate(device::MemoryClient::copies, rounded); };
  auto address = allocate();
  if (!address && address.error().kind == device::ErrorKind::out_of_memory && !idle_.empty()) {
    free_idle();
    address = allocate();
  }
  if (!address) return tl::unexpected(address.error());
  return Buffer(*this, *address, rounded);
}

// Others have the same budget. Where a third of it or less is left, nothing is kept.
void DeviceBuffers::give_back(device::Address address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const device::MemoryAccountant& accountant = device_.accountant();
  if (accountant.fits(device::MemoryClient::copies, accountant.held(device::MemoryClient::copies).now / 2))
    if (platform::contained([&] { idle_.emplace(bytes, address); })) return;
  device_.free(address);
}

void DeviceBuffers::free_idle() {
  for (const auto& [bytes, address] : idle_) device_.free(address);
  idle_.clear();
}

}  // namespace blastoff::residency::copy
