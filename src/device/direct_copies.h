// Between which devices copies are direct.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/device.h"

namespace blastoff::device {

/// Thread-safe.
class DirectCopies {
 public:
  /// Whether queues of `to` copy from the memory of `from`: the devices say so, and a first copy has arrived unchanged.
  /// (Some machines, whose links to the devices are isolated from each other, promise it and lose the copied bytes.) If
  /// the trial cannot be made, because memory is short, later questions repeat it.
  bool possible(Device& to, Device& from);

  /// The device takes part, under this number.
  void join(std::size_t number, Device& device);
  /// The numbers of those whose memory queues of `to` copy from.
  std::vector<std::size_t> reached_by(Device& to);

  /// Forgets the device, which is going away. No call of another one may be in flight.
  void forget(Device& device);

 private:
  struct Answer {
    std::optional<bool> possible;
    int trials = 0;
  };

  std::mutex mutex_;
  std::vector<std::pair<std::size_t, Device*>> members_;
  std::map<std::pair<Device*, Device*>, Answer> known_;
};

}  // namespace blastoff::device
