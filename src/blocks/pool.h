// Memory in size classes: what is freed serves later requests of its class.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "blocks/points.h"

namespace blastoff::blocks {

class Pool;

/// A piece of memory with the uses that may still run; goes back to its pool when it is destroyed.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        address_(std::exchange(other.address_, 0)),
        bytes_(std::exchange(other.bytes_, 0)),
        uses_(std::exchange(other.uses_, {})) {}
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  explicit operator bool() const { return address_ != 0; }
  /// On the host or on the device.
  std::uint64_t address() const { return address_; }
  Uses& uses() { return uses_; }

 private:
  friend class Pool;
  Memory(Pool& pool, std::uint64_t address, std::size_t bytes, Uses uses)
      : pool_(&pool), address_(address), bytes_(bytes), uses_(std::move(uses)) {}

  Pool* pool_ = nullptr;
  std::uint64_t address_ = 0;
  std::size_t bytes_ = 0;
  Uses uses_;
};

struct PoolCounts {
  std::uint64_t hits = 0;    ///< requests that were served by what had been freed
  std::uint64_t misses = 0;  ///< that were allocated
  std::uint64_t bytes = 0;   ///< allocated now, in use or kept
  double seconds = 0;        ///< in allocating and freeing
};

/// Where a pool has its memory from.
struct MemorySource {
  std::function<device::Result<std::uint64_t>(std::size_t bytes)> allocate;
  std::function<void(std::uint64_t address, std::size_t bytes)> free;
};

/// Thread-safe. Outlives its memory.
class Pool {
 public:
  Pool(MemorySource source, Counters& counters) : source_(std::move(source)), counters_(counters) {}
  ~Pool() { trim(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// What is freed is kept from now on, or is not.
  void keep(bool kept);
  /// It allocates no more than that.
  void limit(std::size_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

  /// At least `bytes` of memory, which may still be in use as it says. Where nothing can be allocated, what is kept is
  /// given back first.
  device::Result<Memory> take(std::size_t bytes);

  /// Gives back what is kept, after its last use.
  void trim();

  PoolCounts counts() const;

  /// The size of the memory for a request: at most a quarter more, plus what the least size takes.
  static std::size_t class_of(std::size_t bytes);

 private:
  friend class Memory;
  struct Kept {
    std::uint64_t address;
    Uses uses;
  };
  device::Result<std::uint64_t> allocate(std::size_t bytes);
  bool make_room(std::size_t bytes);
  void give_back(std::uint64_t address, std::size_t bytes, Uses uses);
  void free(std::uint64_t address, std::size_t bytes, Uses uses);

  const MemorySource source_;
  Counters& counters_;
  std::atomic<std::size_t> limit_{SIZE_MAX};
  mutable std::mutex mutex_;
  bool keeps_ = true;
  std::map<std::size_t, std::vector<Kept>> kept_;  // by class
  PoolCounts counts_;
};

}  // namespace blastoff::blocks
