// The program's memory that is page-locked for the device. Results are written directly into it, and matrices that the
// CPU keeps rewriting are read directly from it: at link speed, and unseen by the kernel's write tracking.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "device/device.h"
#include "platform/interval_set.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// Not thread-safe: a lock of the owner guards it.
class Pins {
 public:
  struct Pin {
    platform::Span span;
    int holds = 0;                   ///< calls in flight that copy into it
    std::atomic<bool> gone = false;  ///< the memory was unmapped or dropped; the pin ends with its last hold
    std::size_t counted = 0;         ///< kilobytes of VmPin that it accounts for
  };

  /// `limit`: the most bytes of host memory to page-lock.
  Pins(device::Device& device, std::size_t limit) : device_(device), limit_(limit) {}
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;
  ~Pins() {
    while (!pins_.empty()) end(pins_.begin());
  }

  /// Returns a pin that covers all of `span`, held until unhold(). Returns nullptr if the memory should be copied
  /// through staging, because pinning it does not pay yet, or must be, because of the limit or the driver. Pinning
  /// costs about as much as two copies, so it begins with the second request for the same memory. It then covers the
  /// memory that was requested beside it, too, if that is much: threads that each ask for a slice of a matrix share one
  /// pin.
  /// `created`: whether the pin is new. Pinning touches the pages as a write does, and the tracking reports them as
  /// written.
  Pin* hold(platform::Span span, bool& created);
  void unhold(Pin* pin);

  /// Ends all pins. Those of calls in flight end with these calls.
  void release();

  bool empty() const { return pins_.empty(); }

  /// Whether one of our pins covers all of `span`.
  bool covers(platform::Span span);

  /// Kilobytes of the process's VmPin that are ours. Memory that NVIDIA's driver pins is not counted in VmPin.
  std::size_t counted_kilobytes() const { return counted_; }

  /// The memory of the span was unmapped, moved or dropped: ends the pins that touch it.
  void forget(platform::Span span);

 private:
  Pin* create(platform::Span span);
  using Map = std::map<std::uintptr_t, Pin>;
  Map::iterator first_reaching(std::uintptr_t address);
  Map::iterator end(Map::iterator pin);
  bool held_within(platform::Span span);
  std::size_t bytes_within(platform::Span span);

  device::Device& device_;
  std::size_t limit_;
  std::size_t pinned_ = 0;
  std::size_t counted_ = 0;
  Map pins_;                                         // by begin; they do not overlap
  std::map<std::uintptr_t, std::size_t> requested_;  // begin -> bytes copied through staging so far
  platform::IntervalSet extents_;                    // of what was requested
};

}  // namespace blastoff::residency::mirror
