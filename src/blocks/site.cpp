#include "blocks/site.h"

namespace blastoff::blocks {

Site::Site(device::Device& device)
    : device_(device),
      points_(device),
      pool_(device::memory_of(device, device::MemoryClient::blocks)),
      upload_(device),
      download_(device),
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
