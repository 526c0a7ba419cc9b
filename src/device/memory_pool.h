// Memory that is kept for later when it is given back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "device/points.h"

namespace blastoff::device {

class MemoryPool;

/// A piece of memory with the uses that may still run; goes back to its pool when it is destroyed.
class PooledMemory {
 public:
  PooledMemory() = default;
  PooledMemory(PooledMemory&& other) noexcept = default;
  PooledMemory& operator=(PooledMemory&& other) noexcept {
    std::swap(pool_, other.pool_);
    piece_.swap(other.piece_);
    return *this;
  }
  ~PooledMemory();

  explicit operator bool() const { return !piece_.empty(); }
  /// On the host or on the device; 0 where there is none.
  std::uint64_t address() const { return piece_ ? piece_.mapped().address : 0; }
  /// At least what was asked for.
  std::size_t bytes() const { return piece_ ? piece_.key() : 0; }
  /// For whoever takes it next. There must be memory.
  PendingUses& uses() { return piece_.mapped().uses; }

 private:
  friend class MemoryPool;
  struct Piece {
    std::uint64_t address = 0;
    PendingUses uses;
  };
  using Pieces = std::multimap<std::size_t, Piece>;  ///< by size
  PooledMemory(MemoryPool& pool, Pieces::node_type piece) : pool_(&pool), piece_(std::move(piece)) {}

  MemoryPool* pool_ = nullptr;
  Pieces::node_type piece_;
};

struct PoolCounts {
  std::uint64_t hits = 0;    ///< requests that were served by what had been given back
  std::uint64_t misses = 0;  ///< that were allocated
  std::uint64_t bytes = 0;   ///< allocated now, in use or kept
  double seconds = 0;        ///< in allocating and freeing
};

/// Where a pool has its memory from.
struct MemorySource {
  std::function<Result<std::uint64_t>(std::size_t bytes)> allocate;
  std::function<void(std::uint64_t address, std::size_t bytes)> free;
};

/// Device memory, charged to the client whether it is in use or kept.
MemorySource memory_of(Device& device, MemoryClient client);

/// Thread-safe. Outlives its memory. No lock is held while memory is allocated.
class MemoryPool {
 public:
  explicit MemoryPool(MemorySource source) : source_(std::move(source)) {}
  ~MemoryPool() { trim(); }
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// What is given back is kept from now on, or is not.
  void keep(bool kept);
  /// It allocates no more than that.
  void limit(std::size_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

  /// At least `bytes` of memory, which may still be in use as it says. Where nothing can be allocated (the source has
  /// none, or the budget is spent), what is kept is freed first.
  Result<PooledMemory> take(std::size_t bytes);

  /// Frees what is kept, after its last use. False: nothing was.
  bool trim();

  PoolCounts counts() const;

  /// The size of the memory that is allocated for a request: at most an eighth more, plus what the least size takes.
  static std::size_t class_of(std::size_t bytes);

 private:
  friend class PooledMemory;
  using Pieces = PooledMemory::Pieces;
  Result<std::uint64_t> allocate(std::size_t bytes);
  void give_back(Pieces::node_type piece);
  void free(std::size_t bytes, PooledMemory::Piece& piece);

  const MemorySource source_;
  std::atomic<std::size_t> limit_{SIZE_MAX};
  std::mutex trim_mutex_;
  mutable std::mutex mutex_;
  bool keeps_ = true;
  Pieces kept_;
  PoolCounts counts_;
};

}  // namespace blastoff::device
