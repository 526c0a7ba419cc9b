// Memory that Blastoff holds, and bytes that it has moved, as numbers that another thread or process can read at any
// time.
#pragma once

#include <atomic>
#include <cstdint>

namespace blastoff::platform {

/// All numbers are bytes.
struct MemoryGauge {
  std::atomic<std::uint64_t> device;       ///< device memory held now, by all clients
  std::atomic<std::uint64_t> mirrored;     ///< part of `device`: copies of host memory that are kept between calls
  std::atomic<std::uint64_t> pinned;       ///< the program's memory that is page-locked now
  std::atomic<std::uint64_t> staged;       ///< page-locked buffers of Blastoff's own
  std::atomic<std::uint64_t> to_device;    ///< moved to the device by the calls so far
  std::atomic<std::uint64_t> from_device;  ///< moved from the device by the calls so far
};

}  // namespace blastoff::platform
