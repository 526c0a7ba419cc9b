// Addresses in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blastoff::device {

/// An address in device memory. Arithmetic is in bytes. 0 is never valid.
using Address = std::uint64_t;

/// Bytes of host memory, and the device address to which they are copied.
struct Run {
  Address device = 0;
  const void* host = nullptr;
  std::size_t bytes = 0;
};

}  // namespace blastoff::device
