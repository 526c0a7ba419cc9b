// Between which devices copies are direct.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "device/device.h"

namespace blastoff::device {

/// Thread-safe.
class DirectCopies {
 public:
  /// Whether queues of `to` copy from the memory of `from`: the devices say so, and a first copy has arrived as it was
  /// sent. (Some machines, whose links to the devices are isolated from each other, promise it and lose what is
  /// copied.)
  bool possible(Device& to, Device& from);

  /// The device goes away.
  void forget(Device& device);

 private:
  std::mutex mutex_;
  std::map<std::pair<Device*, Device*>, bool> known_;
};

}  // namespace blastoff::device
