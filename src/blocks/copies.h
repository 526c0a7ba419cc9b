// What copies between the host and devices take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.h"

namespace blastoff::blocks {

inline void* host_pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

/// So many bytes in a row.
inline device::Block run_of(std::size_t bytes) {
  return {bytes, 1, bytes, bytes};
}

}  // namespace blastoff::blocks
