// Addresses in device memory.
#pragma once

#include <cstdint>

namespace blastoff::device {

/// An address in device memory. Arithmetic is in bytes. 0 is never valid.
using Address = std::uint64_t;

}  // namespace blastoff::device
