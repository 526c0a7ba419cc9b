// Reads mirrors for the pager, which brings results home that stayed on the device.
#pragma once

#include <memory>
#include <mutex>

#include "device/device.h"
#include "ledger/pager.h"

namespace blastoff::residency::mirror {

/// A queue and a page-locked buffer of its own: whoever waits for a page may hold all others.
class MirrorSource final : public ledger::PageSource {
 public:
  static device::Result<std::unique_ptr<MirrorSource>> create(device::Device& device);
  ~MirrorSource() override { device_.free_staging(buffer_, max_bytes); }
  MirrorSource(const MirrorSource&) = delete;
  MirrorSource& operator=(const MirrorSource&) = delete;

  /// Results have been computed when the call that leaves them ends.
  const void* read(device::Address from, std::size_t bytes) override;
  void release() override { mutex_.unlock(); }

 private:
  MirrorSource(device::Device& device, std::unique_ptr<device::Queue> queue, void* buffer)
      : device_(device), queue_(std::move(queue)), buffer_(buffer) {}

  device::Device& device_;
  const std::unique_ptr<device::Queue> queue_;
  void* const buffer_;
  std::mutex mutex_;  ///< of the buffer
};

}  // namespace blastoff::residency::mirror
