// What Blastoff holds and has moved, as numbers that another thread or process reads at any time.
#pragma once

#include <atomic>
#include <cstdint>

namespace blastoff::platform {

/// Bytes.
struct MemoryGauge {
  std::atomic<std::uint64_t> device;       ///< device memory held now, by all its users
  std::atomic<std::uint64_t> mirrored;     ///< of this, copies of host memory that are kept between calls
  std::atomic<std::uint64_t> pinned;       ///< the program's memory that is page-locked now
  std::atomic<std::uint64_t> staged;       ///< page-locked buffers of Blastoff's own
  std::atomic<std::uint64_t> to_device;    ///< moved by the calls so far
  std::atomic<std::uint64_t> from_device;  ///< likewise
};

}  // namespace blastoff::platform
