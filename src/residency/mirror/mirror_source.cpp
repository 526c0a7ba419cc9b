#include "residency/mirror/mirror_source.h"

#include <utility>

namespace blastoff::residency::mirror {

device::Result<std::unique_ptr<MirrorSource>> MirrorSource::create(device::Device& device) {
  auto queue = device.create_queue();
  if (!queue) return tl::unexpected(std::move(queue.error()));
  auto buffer = device.allocate_staging(max_bytes);
  if (!buffer) return tl::unexpected(std::move(buffer.error()));
  return std::unique_ptr<MirrorSource>(new MirrorSource(device, std::move(*queue), *buffer));
}

const void* MirrorSource::read(device::Address from, std::size_t bytes) {
  mutex_.lock();
  const device::Status read =
      queue_->copy_to_host(buffer_, from, {bytes, 1, bytes, bytes}).and_then([&] { return queue_->synchronize(); });
  if (read) return buffer_;
  mutex_.unlock();
  return nullptr;
}

}  // namespace blastoff::residency::mirror
