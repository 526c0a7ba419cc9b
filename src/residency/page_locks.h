// Page-locked memory of the program, as a source and a destination of copies that need no staging.
#pragma once

#include "platform/span.h"

namespace blastoff::residency {

/// Operands whose host memory stays page-locked while this lives. At its end their results count as written, so that no
/// mirror holds what they were before. Thread-safe.
class PageLocks {
 public:
  virtual ~PageLocks() = default;

  /// Whether the device may read this host memory.
  virtual bool readable(platform::Span host) const = 0;
  /// Whether it may write it: part of a result that the program itself may write now.
  virtual bool writable(platform::Span host) const = 0;
};

}  // namespace blastoff::residency
