// Records which direct writes into host memory began and ended, even if the device is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.h"
#include "residency/policy.h"

namespace blastoff::residency {

/// The device sets a word in host memory before and another after it returns a panel, in queue order. When a later
/// driver call fails, the words tell what happened.
class CommitLog {
 public:
  static constexpr std::size_t max_panels = 256;

  static device::Result<std::unique_ptr<CommitLog>> create(device::Device& device, device::Queue& queue);
  ~CommitLog();
  CommitLog(const CommitLog&) = delete;
  CommitLog& operator=(const CommitLog&) = delete;

  void clear();
  device::Status begin(device::Queue& queue, std::size_t panel) { return mark(queue, 2 * panel); }
  device::Status end(device::Queue& queue, std::size_t panel) { return mark(queue, 2 * panel + 1); }
  HostState state(std::size_t panel) const;

 private:
  explicit CommitLog(device::Device& device) : device_(device) {}
  device::Status mark(device::Queue& queue, std::size_t word);

  device::Device& device_;
  std::uint32_t* words_ = nullptr;  // staging memory: two for each panel, and the mark itself
  device::Address mark_ = 0;        // a word on the device that is not zero
};

}  // namespace blastoff::residency
