#include "device/driver_sharing.h"

#include <atomic>

#include "device/gpu/cuda/cuda_users.h"

namespace blastoff::device {
namespace {

constinit std::atomic<bool> used{false};
constinit std::atomic<bool> present{false};

}  // namespace

bool note_library(const LibraryInProcess& library) {
  const DriverUse use = cuda::cuda_use(library);
  if (use != DriverUse::none) present = true;
  return use == DriverUse::used && !used.exchange(true);
}

void assume_shared_driver() {
  present = true;
  used = true;
}

bool program_uses_driver() {
  return used.load(std::memory_order_relaxed);
}

bool others_have_driver() {
  return present.load(std::memory_order_relaxed);
}

bool is_drivers_thread_for_us(std::string_view name) {
  return !others_have_driver() && cuda::is_name_of_drivers_thread(name);
}

}  // namespace blastoff::device
