// Between which devices copies are direct.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "device/device.h"

namespace blastoff::device {

/// Thread-safe.
class DirectCopies {
 public:
  /// Whether queues of `to` copy from the memory of `from`: the devices say so, and a first copy has arrived as it was
  /// sent. (Some machines, whose links to the devices are isolated from each other, promise it and lose what is
  /// copied.) A trial that cannot be made, because memory is short, is repeated at the next questions.
  bool possible(Device& to, Device& from);

  /// The device goes away.
  void forget(Device& device);

 private:
  struct Answer {
    std::optional<bool> possible;
    int trials = 0;
  };

  std::mutex mutex_;
  std::map<std::pair<Device*, Device*>, Answer> known_;
};

}  // namespace blastoff::device
