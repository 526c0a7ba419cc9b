#include "residency/mirror/mirror_source.h"

#include <algorithm>
#include <utility>

namespace blastoff::residency::mirror {

device::Result<std::unique_ptr<MirrorSource>> MirrorSource::create(device::Device& device) {
  std::unique_ptr<MirrorSource> source(new MirrorSource(device));
  source->taken_.reserve(max_slots);
  for (std::size_t i = 0; i < max_slots; ++i) {
    auto queue = device.create_queue();
    if (!queue) return tl::unexpected(std::move(queue.error()));
    auto buffer = device.allocate_staging(max_bytes);
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    source->idle_.push_back({std::move(*queue), *buffer});
  }
  return source;
}

MirrorSource::~MirrorSource() {
  for (const Slot& slot : idle_) device_.free_staging(slot.buffer, max_bytes);
}

const void* MirrorSource::read(device::Address from, std::size_t bytes) {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [this] { return !idle_.empty(); });
  taken_.push_back(std::move(idle_.back()));
  idle_.pop_back();
  device::Queue& queue = *taken_.back().queue;
  void* const buffer = taken_.back().buffer;
  lock.unlock();
  const device::Status read =
      queue.copy_to_host(buffer, from, {bytes, 1, bytes, bytes}).and_then([&] { return queue.synchronize(); });
  if (read) return buffer;
  release(buffer);
  return nullptr;
}

void MirrorSource::release(const void* buffer) {
  {
    const std::lock_guard lock(mutex_);
    const auto slot = std::ranges::find(taken_, buffer, &Slot::buffer);
    idle_.push_back(std::move(*slot));
    taken_.erase(slot);
  }
  released_.notify_one();
}

}  // namespace blastoff::residency::mirror
