#include "device/gpu/cuda/cuda_device.h"

#include <array>

#include "device/gpu/cuda/driver.h"
#include "device/gpu/cuda/executors.h"
#include "device/gpu/cuda/listed_gpus.h"
#include "device/gpu/gpu_device.h"
#include "platform/threads.h"

namespace blastoff::device::gpu::cuda {

Result<std::unique_ptr<Device>> open(const Choice& choice) {
  static constexpr std::array executors{cublas_kind, cusolver_kind, cufft_kind};
  return gpu::open(load_driver, executors, choice);
}

Result<int> count(const Choice&) {
  const platform::SignalsBlocked blocked;
  const auto driver = load_driver();
  return driver ? driver->start() : tl::unexpected(driver.error());
}

Expected expected() {
  return listed_gpus();
}

std::string absence() {
  return driver_is_present() ? "" : "no GPU here (no NVIDIA driver): blastoff try -- PROGRAM says what one would gain";
}

}  // namespace blastoff::device::gpu::cuda
