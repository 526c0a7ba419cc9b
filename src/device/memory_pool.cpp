#include "device/memory_pool.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "platform/contained.h"
#include "platform/quantity.h"
#include "platform/stopwatch.h"

namespace blastoff::device {

PooledMemory::~PooledMemory() {
  if (piece_) pool_->give_back(std::move(piece_));
}

MemorySource memory_of(Device& device, MemoryClient client) {
  return {[&device, client](std::size_t bytes) { return device.allocate(client, bytes); },
          [&device](std::uint64_t address, std::size_t) { device.free(address); }};
}

// Eight classes between a power of two and the next, so that requests of about the same size find each other's memory.
std::size_t MemoryPool::class_of(std::size_t bytes) {
  constexpr std::size_t min_bytes = 1024;
  if (bytes <= min_bytes) return min_bytes;
  const std::size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

void MemoryPool::keep(bool kept) {
  {
    const std::lock_guard lock(mutex_);
    keeps_ = kept;
  }
  if (!kept) trim();
}

Result<PooledMemory> MemoryPool::take(std::size_t bytes) {
  const std::size_t size = class_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto fitting = kept_.lower_bound(size);
    if (fitting != kept_.end() && fitting->first <= size + size / 2) {
      ++counts_.hits;
      return PooledMemory(*this, kept_.extract(fitting));
    }
  }
  Pieces piece;  // made before the memory is allocated: afterwards there may be no memory for it
  if (!platform::contained([&] { piece.emplace(size, PooledMemory::Piece()); }))
    return tl::unexpected(no_host_memory());
  auto allocated = allocate(size);
  if (!allocated && allocated.error().kind == ErrorKind::out_of_memory) {
    trim();
    allocated = allocate(size);
  }
  if (!allocated) return tl::unexpected(std::move(allocated.error()));
  piece.begin()->second.address = *allocated;
  return PooledMemory(*this, piece.extract(piece.begin()));
}

Result<std::uint64_t> MemoryPool::allocate(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const std::size_t limit = limit_.load(std::memory_order_relaxed);
    if (counts_.bytes + bytes > limit) {
      return tl::unexpected(
          Error{ErrorKind::out_of_memory,
                fmt::format("no {} more in a pool that may hold {} and has {}", platform::format_bytes(bytes),
                            platform::format_bytes(limit), platform::format_bytes(counts_.bytes))});
    }
    counts_.bytes += bytes;
  }
  const platform::Stopwatch allocating;
  auto allocated = source_.allocate(bytes);
  const std::lock_guard lock(mutex_);
  counts_.seconds += allocating.seconds();
  if (allocated)
    ++counts_.misses;
  else
    counts_.bytes -= bytes;
  return allocated;
}

// The piece that came last is taken first: on the host it may still be in a cache.
void MemoryPool::give_back(Pieces::node_type piece) {
  {
    const std::lock_guard lock(mutex_);
    if (keeps_) {
      kept_.insert(kept_.lower_bound(piece.key()), std::move(piece));
      return;
    }
  }
  free(piece.key(), piece.mapped());
}

// Nothing runs any more on a device that is lost.
void MemoryPool::free(std::size_t bytes, PooledMemory::Piece& piece) {
  piece.uses.finish();
  const platform::Stopwatch freeing;
  source_.free(piece.address, bytes);
  const std::lock_guard lock(mutex_);
  counts_.seconds += freeing.seconds();
  counts_.bytes -= bytes;
}

// Others who need memory at the same time wait until it is free.
bool MemoryPool::trim() {
  const std::lock_guard one_at_a_time(trim_mutex_);
  Pieces all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(kept_);
  }
  for (auto& [bytes, piece] : all) free(bytes, piece);
  return !all.empty();
}

PoolCounts MemoryPool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace blastoff::device
