// Between which devices copies are direct.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "device/device.h"

namespace blastoff::blocks {

/// Thread-safe.
class Peers {
 public:
  /// Whether queues of `to` copy from the memory of `from`: the devices say so, and a first copy has arrived as it was
  /// sent. (Some machines, whose links to the devices are isolated from each other, promise it and lose what is
  /// copied.)
  bool copy_directly(device::Device& to, device::Device& from);

 private:
  std::mutex mutex_;
  std::map<std::pair<device::Device*, device::Device*>, bool> known_;
};

}  // namespace blastoff::blocks
