// How fast matrices are copied to the device.
#pragma once

#include <atomic>
#include <cstdint>

#include "decide/decider.h"
#include "decide/machine_model.h"

namespace blastoff::decide {

/// The rate that the machine's model supposes, until large uploads have shown it. Takes no lock. Thread-safe.
class LinkRate {
 public:
  explicit LinkRate(const MachineModel& model) { assume(model); }

  void assume(const MachineModel& model) {
    assumed_.store(static_cast<float>(model.to_device), std::memory_order_relaxed);
  }

  /// Learns from any call that has ended. The copy of smaller matrices ends in page-locked buffers: transfer_seconds
  /// then misses part of the transfer.
  void learn(const Observation& observation) {
    constexpr std::uint64_t tells_rate = std::uint64_t{256} << 20;
    if (!observation.operands_kept || observation.bytes_to_device < tells_rate || observation.transfer_seconds <= 0)
      return;
    const double rate = static_cast<double>(observation.bytes_to_device) / observation.transfer_seconds;
    const auto before = static_cast<double>(seen_.load(std::memory_order_relaxed));
    seen_.store(static_cast<float>(before > 0 ? (before + rate) / 2 : rate), std::memory_order_relaxed);
  }

  double bytes_per_second() const {
    const float seen = seen_.load(std::memory_order_relaxed);
    return static_cast<double>(seen > 0 ? seen : assumed_.load(std::memory_order_relaxed));
  }

 private:
  std::atomic<float> assumed_;
  std::atomic<float> seen_{0};  ///< 0: no large upload yet
};

}  // namespace blastoff::decide
