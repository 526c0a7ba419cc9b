// NVIDIA's driver, loaded while the program runs.
#pragma once

#include <type_traits>

#include "device/error.h"
#include "device/gpu/cuda/api.h"

namespace blastoff::device::cuda {

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

/// libcuda.so.1. Stays loaded for good.
Result<api::Driver> load_driver();

}  // namespace blastoff::device::cuda
