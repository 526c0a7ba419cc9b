// Application memory that is page-locked for the device, so that results go straight into it: at link speed and without
// a trace in the kernel's write tracking.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "device/device.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// Not thread-safe: one lock of the owner's guards it.
class Pins {
 public:
  struct Pin {
    platform::Span span;
    int holds = 0;            ///< calls in flight that copy into it
    bool gone = false;        ///< the memory was unmapped or dropped: ends with the last hold
    std::size_t counted = 0;  ///< kilobytes of VmPin that it accounts for
  };

  /// `limit`: most bytes of host memory to page-lock.
  Pins(device::Device& device, std::size_t limit) : device_(device), limit_(limit) {}
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;
  ~Pins() {
    while (!pins_.empty()) end(pins_.begin());
  }

  /// A pin around all of `span`, held until unhold(); nullptr where the memory should be (not yet proved worth it) or
  /// must be (limit, refused by the driver) written through staging. Pinning costs about as much as two copies, so it
  /// begins with the second request for the same memory.
  /// `created`: whether the pin is new, and may cover more than the span. Pinning touches its pages as a write does:
  /// the tracking reports them as written.
  Pin* hold(platform::Span span, bool& created);
  void unhold(Pin* pin);

  /// Ends all pins, those of calls in flight with these calls.
  void release();

  /// Whether a pin of ours lies around all of `span`.
  bool covers(platform::Span span) const;

  /// Kilobytes of the process's VmPin that are pins of ours. NVIDIA's driver pins without being counted there.
  std::size_t counted_kilobytes() const { return counted_; }

  /// The memory of the span went away or was dropped; pins that touch it end.
  void forget(platform::Span span);

 private:
  Pin* create(platform::Span span);
  void end(std::list<Pin>::iterator pin);

  device::Device& device_;
  std::size_t limit_;
  std::size_t pinned_ = 0;
  std::size_t counted_ = 0;
  std::list<Pin> pins_;
  std::unordered_map<std::uintptr_t, std::size_t> requested_;  // begin -> bytes written through staging so far
};

}  // namespace blastoff::residency::mirror
