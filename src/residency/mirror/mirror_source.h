// Reads mirrors for the pager, which brings results home that stayed on the device.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "device/device.h"
#include "ledger/pager.h"
#include "residency/mirror/running_calls.h"

namespace blastoff::residency::mirror {

/// Queues and page-locked buffers of its own: whoever waits for a page may hold all others.
class MirrorSource final : public ledger::PageSource {
 public:
  static device::Result<std::unique_ptr<MirrorSource>> create(device::Device& device, RunningCalls& running);
  ~MirrorSource() override;
  MirrorSource(const MirrorSource&) = delete;
  MirrorSource& operator=(const MirrorSource&) = delete;

  /// Waits for the running calls that compute what is to be read.
  const void* read(std::span<const ledger::PagesOnDevice> runs) override;
  void release(const void* buffer) override;
  /// Waits for the running calls that use what is to be written.
  bool write(std::span<const device::Run> runs) override;

 private:
  /// As many pieces are on their way at a time.
  static constexpr std::size_t max_slots = 8;
  struct Slot {
    std::unique_ptr<device::Queue> queue;
    void* buffer = nullptr;
  };

  MirrorSource(device::Device& device, RunningCalls& running) : device_(device), running_(running) {}

  Slot& take_slot();

  device::Device& device_;
  RunningCalls& running_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::list<Slot> idle_;
  std::list<Slot> taken_;
};

}  // namespace blastoff::residency::mirror
