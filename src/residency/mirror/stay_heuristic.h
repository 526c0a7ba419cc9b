// Which results stay on the device. What a program never looks at need not come home at every call. What it looks at
// comes home more slowly afterwards than during the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operation/operation.h"
#include "platform/recent_map.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// A result stays where the device has used or overwritten its memory several times, and the program touched little of
/// it in between. That it touches a result shows only where the result stayed. So this is tried, and it takes four
/// times as many uses after every failure. Its decisions affect only speed. Not thread-safe.
class StayHeuristic {
 public:
  /// Whether a result of the call is to stay.
  bool worth_leaving(const operation::Operation& call, std::size_t index);

  /// A call that used the operand is over. `left`: as a result, it stayed.
  void used(const operation::Operation& call, std::size_t index, bool left);

  /// Pages of results that had stayed were brought home because the program touched them.
  void touched(platform::Span pages);

  /// The memory of the span is gone or new.
  void forget(platform::Span span) { regions_.erase_within(span.begin, span.end); }

 private:
  static constexpr int first_patience = 3;
  static constexpr int longest_patience = 1 << 12;

  /// Memory that held the operands of calls, one within the other.
  struct Region {
    std::uintptr_t end = 0;
    int uses = 0;  ///< by the device, since the program touched much of it
    bool left = false;
    std::size_t touched = 0;  ///< bytes, since it was left
    int patience = first_patience;
  };
  Region* region_of(platform::Span span);
  /// Whether it was a mistake that the memory of an operand was left.
  static bool was_touched(const Region& region, platform::Span operand);

  platform::RecentMap<std::uintptr_t, Region> regions_{platform::max_matrices_remembered};  // by begin
};

}  // namespace blastoff::residency::mirror
