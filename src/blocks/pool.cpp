#include "blocks/pool.h"

#include <algorithm>
#include <bit>
#include <new>

#include <fmt/format.h>

#include "platform/quantity.h"
#include "platform/stopwatch.h"

namespace blastoff::blocks {

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(uses_, other.uses_);
  return *this;
}

Memory::~Memory() {
  if (pool_ != nullptr) pool_->give_back(address_, bytes_, std::move(uses_));
}

// Four classes between a power of two and the next.
std::size_t Pool::class_of(std::size_t bytes) {
  constexpr std::size_t least = 1024;
  if (bytes <= least) return least;
  const std::size_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

void Pool::keep(bool kept) {
  {
    const std::lock_guard lock(mutex_);
    keeps_ = kept;
  }
  if (!kept) trim();
}

device::Result<Memory> Pool::take(std::size_t bytes) {
  const std::size_t size = class_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(size);
    if (found != kept_.end() && !found->second.empty()) {
      Kept kept = std::move(found->second.back());
      found->second.pop_back();
      ++counts_.hits;
      return Memory(*this, kept.address, size, std::move(kept.uses));
    }
  }
  auto allocated = allocate(size);
  if (!allocated && allocated.error().kind == device::ErrorKind::out_of_memory) {
    trim();
    allocated = allocate(size);
  }
  if (!allocated) return tl::unexpected(std::move(allocated.error()));
  return Memory(*this, *allocated, size, {});
}

device::Result<std::uint64_t> Pool::allocate(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    const std::size_t limit = limit_.load(std::memory_order_relaxed);
    if (counts_.bytes + bytes > limit) {
      return tl::unexpected(device::Error{
          device::ErrorKind::out_of_memory,
          fmt::format("no {} more for blocks, which may hold {} and have {}", platform::format_bytes(bytes),
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

/// Makes room in the process's own memory. False: there is none.
bool Pool::make_room(std::size_t bytes) try {
  std::vector<Kept>& pieces = kept_[bytes];
  if (pieces.size() == pieces.capacity()) pieces.reserve(std::max<std::size_t>(8, 2 * pieces.size()));
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Pool::give_back(std::uint64_t address, std::size_t bytes, Uses uses) {
  {
    const std::lock_guard lock(mutex_);
    // Nothing is moved from `uses` before there is room for it.
    if (keeps_ && make_room(bytes)) {
      kept_[bytes].push_back({address, std::move(uses)});
      return;
    }
  }
  free(address, bytes, std::move(uses));
}

// Nothing runs any more on a device that is lost.
void Pool::free(std::uint64_t address, std::size_t bytes, Uses uses) {
  uses.finish(counters_);
  const platform::Stopwatch freeing;
  source_.free(address, bytes);
  const std::lock_guard lock(mutex_);
  counts_.seconds += freeing.seconds();
  counts_.bytes -= bytes;
}

void Pool::trim() {
  std::map<std::size_t, std::vector<Kept>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(kept_);
  }
  for (auto& [bytes, pieces] : all)
    for (Kept& piece : pieces) free(piece.address, bytes, std::move(piece.uses));
}

PoolCounts Pool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace blastoff::blocks
