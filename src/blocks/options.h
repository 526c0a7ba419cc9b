// How blocks work, and what they have done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::blocks {

/// The streams of copies on each device.
inline constexpr int max_streams = 16;
inline constexpr int usual_streams = 2;

/// blastoff_blocks_options.
struct Options {
  bool intents = true;
  bool pinned = true;
  bool pooled = true;
  bool asynchronous = true;
  std::size_t device_memory = 0;  ///< bytes on each device; 0: as much as there is
  std::size_t pinned_memory = 0;  ///< bytes; 0: half of the main memory
  int direct = -1;  ///< messages are from and to device memory, and copies from device to device; 0: through
                    ///< the host; -1: as the MPI can
  int streams = usual_streams;
};

/// (std::atomic<double> has no += in every standard library.)
inline void add(std::atomic<double>& sum, double amount) {
  double before = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(before, before + amount, std::memory_order_relaxed)) {
  }
}

/// blastoff_blocks_counters, without those of pools. They count for all threads.
struct Counters {
  std::atomic<std::uint64_t> acquisitions{0};
  std::atomic<std::uint64_t> found_current{0};
  std::atomic<std::uint64_t> copies_to_device{0};
  std::atomic<std::uint64_t> bytes_to_device{0};
  std::atomic<std::uint64_t> copies_from_device{0};
  std::atomic<std::uint64_t> bytes_from_device{0};
  std::atomic<std::uint64_t> copies_between_devices{0};
  std::atomic<std::uint64_t> bytes_between_devices{0};
  std::atomic<std::uint64_t> evictions{0};
  std::atomic<std::uint64_t> evicted_bytes{0};
  std::atomic<std::uint64_t> contractions{0};
  std::atomic<double> flops{0};
  std::atomic<double> waiting_seconds{0};
  std::atomic<std::uint64_t> host_plain{0};

  void waited(double seconds) {
    if (seconds > 0) add(waiting_seconds, seconds);
  }
};

}  // namespace blastoff::blocks
