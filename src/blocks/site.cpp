#include "blocks/site.h"

namespace blastoff::blocks {

CopyQueues::CopyQueues(device::Device& device) {
  for (auto& queue : queues_) queue = std::make_unique<SharedQueue>(device);
}

SharedQueue& CopyQueues::to_device() {
  const auto count = static_cast<unsigned>(count_.load(std::memory_order_relaxed));
  return *queues_[turns_to_device_++ % ((count + 1) / 2)];
}

SharedQueue& CopyQueues::from_device() {
  const auto count = static_cast<unsigned>(count_.load(std::memory_order_relaxed));
  if (count == 1) return *queues_[0];
  return *queues_[(count + 1) / 2 + turns_from_device_++ % (count / 2)];
}

device::Status CopyQueues::synchronize() {
  device::Status all;
  for (const auto& queue : queues_)
    if (auto done = queue->synchronize(); !done && all) all = std::move(done);
  return all;
}

Site::Site(device::Device& device)
    : device_(device),
      points_(device),
      pool_(device::memory_of(device, device::MemoryClient::blocks)),
      copies_(device),
      compute_(device) {}

Site::Entry Site::enter(Block& block) {
  const std::lock_guard lock(mutex_);
  return blocks_.insert(blocks_.end(), &block);
}

void Site::touch(Entry entry) {
  const std::lock_guard lock(mutex_);
  blocks_.splice(blocks_.end(), blocks_, entry);
}

void Site::leave(Entry entry) {
  const std::lock_guard lock(mutex_);
  blocks_.erase(entry);
}

}  // namespace blastoff::blocks
