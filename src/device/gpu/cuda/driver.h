// NVIDIA's driver, loaded while the program runs.
#pragma once

#include <type_traits>

#include "device/error.h"
#include "device/gpu/cuda/api.h"

namespace blastoff::device::gpu::cuda {

namespace api {

/// The driver's entry points, all set but the optional ones.
struct Driver {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_MEMBER)
  BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
};

}  // namespace api

/// Whether the driver may be there. It is loaded only if the kernel has no part of it.
bool driver_is_present();

/// The table for libcuda.so.1, which stays loaded for good.
Result<Driver> load_driver();

/// The functions of the driver that load_driver() has loaded.
const api::Driver& functions();

}  // namespace blastoff::device::gpu::cuda
