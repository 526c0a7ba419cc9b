#include "residency/mirror/mirror_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace blastoff::residency::mirror {

device::Result<std::unique_ptr<MirrorSource>> MirrorSource::create(device::Device& device, RunningCalls& running) {
  std::unique_ptr<MirrorSource> source(new MirrorSource(device, running));
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

MirrorSource::Slot& MirrorSource::take_slot() {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [this] { return !idle_.empty(); });
  taken_.splice(taken_.begin(), idle_, idle_.begin());
  return taken_.front();
}

const void* MirrorSource::read(std::span<const ledger::PagesOnDevice> runs) {
  running_.finish_writers(runs);
  const Slot& slot = take_slot();
  auto* at = static_cast<std::byte*>(slot.buffer);
  device::Status read;
  for (const ledger::PagesOnDevice& run : runs) {
    const std::size_t bytes = run.host.bytes();
    if (read) read = slot.queue->copy_to_host(at, run.device, {bytes, 1, bytes, bytes});
    at += bytes;
  }
  const device::Status arrived = slot.queue->synchronize();
  if (read && arrived) return slot.buffer;
  release(slot.buffer);
  return nullptr;
}

bool MirrorSource::write(std::span<const device::Run> runs) {
  running_.finish_users(runs);
  std::vector<device::Run> staged(runs.begin(), runs.end());
  const Slot& slot = take_slot();
  auto* at = static_cast<std::byte*>(slot.buffer);
  for (device::Run& run : staged) {
    run.host = std::memcpy(at, run.host, run.bytes);
    at += run.bytes;
  }
  const device::Status queued = slot.queue->copy_runs_to_device(staged);
  const device::Status written = slot.queue->synchronize();
  release(slot.buffer);
  return queued && written;
}

void MirrorSource::release(const void* buffer) {
  {
    const std::lock_guard lock(mutex_);
    idle_.splice(idle_.begin(), taken_, std::ranges::find(taken_, buffer, &Slot::buffer));
  }
  released_.notify_one();
}

}  // namespace blastoff::residency::mirror
