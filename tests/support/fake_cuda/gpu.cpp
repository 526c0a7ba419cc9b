#include "fake_cuda/gpu.h"

namespace blastoff::fake_cuda {

Gpu& Gpu::instance() {
  static Gpu* const gpu = new Gpu;
  return *gpu;
}

CUresult Gpu::register_host(const void* address, std::size_t bytes) {
  if (registered(address, bytes) != Registered::none) return error_already_registered;
  const std::lock_guard lock(mutex_);
  registrations_[reinterpret_cast<std::uintptr_t>(address)] = bytes;
  return device::gpu::cuda::api::success;
}

CUresult Gpu::unregister_host(const void* address) {
  const std::lock_guard lock(mutex_);
  const bool known = registrations_.erase(reinterpret_cast<std::uintptr_t>(address)) == 1;
  return known ? device::gpu::cuda::api::success : error_not_registered;
}

Gpu::Registered Gpu::registered(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  auto after = registrations_.upper_bound(begin);
  if (after != registrations_.begin()) {
    const auto& [start, length] = *std::prev(after);
    if (begin - start < length) return bytes <= length - (begin - start) ? Registered::whole : Registered::partly;
  }
  return after != registrations_.end() && after->first < begin + bytes ? Registered::partly : Registered::none;
}

}  // namespace blastoff::fake_cuda
