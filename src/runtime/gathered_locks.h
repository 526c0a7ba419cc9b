// Page locks on the operands of a gathered problem, in memory that the processes of a grid share. The memory is ours
// alone, so nothing has to be watched. It stays locked between calls, as residency/mirror/pins.h decides, also where a
// library must find no page of the heap locked (device::Queue::copies_heap_memory).
#pragma once

#include <array>

#include "operation/operation.h"
#include "residency/mirror/pins.h"
#include "residency/page_locks.h"

namespace blastoff::runtime {

/// The page locks on such memory.
residency::mirror::Pins& pins_of_segments();

/// From the first to the second of these calls, pages of the memory may be locked. Then it may be unmapped.
void begin_segment(platform::Span memory);
void end_segment(platform::Span memory);

/// Locks a part of such memory that calls are about to use, so that no call waits for that. For one of Blastoff's
/// threads.
void lock_ahead(device::Device& device, platform::Span memory);

class GatheredLocks final : public residency::PageLocks {
 public:
  /// Operands outside `memory` (work space) are not locked.
  GatheredLocks(device::Device& device, const operation::Operation& operation, platform::Span memory);
  ~GatheredLocks() override;
  GatheredLocks(const GatheredLocks&) = delete;
  GatheredLocks& operator=(const GatheredLocks&) = delete;

  bool readable(platform::Span host) const override;
  bool writable(platform::Span host) const override { return readable(host); }

 private:
  std::array<residency::mirror::Pins::Pin*, operation::Operation::max_operands> held_{};
};

}  // namespace blastoff::runtime
