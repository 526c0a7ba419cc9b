#include "device/driver_sharing.h"

#include <atomic>

#include "device/cuda/cuda_users.h"

namespace blastoff::device {
namespace {

constinit std::atomic<bool> shared{false};

}  // namespace

bool note_library(const LibraryInProcess& library) {
  return cuda::shows_cuda_use(library) && !shared.exchange(true);
}

void assume_shared_driver() {
  shared = true;
}

bool program_uses_driver() {
  return shared.load(std::memory_order_relaxed);
}

}  // namespace blastoff::device
