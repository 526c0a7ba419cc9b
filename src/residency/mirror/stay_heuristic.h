// Which results stay on the device. What a program never looks at need not come home at every call. What it looks at
// comes home more slowly afterwards than during the call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "operation/operation.h"
#include "platform/backoff.h"
#include "platform/recent_map.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// What becomes of a result.
enum class Stay : std::uint8_t {
  no,     ///< it goes home
  probe,  ///< it goes home, but for a small piece, which tells whether the program looks at it
  whole,
};

/// That the program touches a result shows only where something of it stayed. So a small piece of a large result stays
/// when it is computed for the first time. If the device uses the memory again, and the program has touched nothing of
/// the piece, the whole result stays from then on; else all of it goes home. If the program touches it after it has
/// stayed several times, that was worth it. After a failure it is tried again when the device has used the memory many
/// times, ever more rarely.
/// New memory has no such past. There the latest results of the routine's size class in new memory tell: if the program
/// looked at few of them, the result stays from the beginning; if it looked at all, the result goes home. Its decisions
/// affect only speed. Not thread-safe.
class StayHeuristic {
 public:
  Stay judge(const operation::Operation& call, std::size_t index);

  /// Whether judge() would say that the whole result stays.
  bool expects_to_stay(const operation::Operation& call, std::size_t index) const;

  /// A call that used the operand is over. `left`: bytes of it that stayed.
  void used(const operation::Operation& call, std::size_t index, std::size_t left);

  /// So many bytes on pages of results that had stayed were brought home because the program touched them.
  void touched(platform::Span pages, std::size_t bytes);
  void touched(platform::Span pages) { touched(pages, pages.bytes()); }

  /// The same for a call that the CPU computes. That the decision was for the CPU tells nothing about a piece: whether
  /// the program itself looks at the result is to be asked again.
  void left_to_cpu(platform::Span pages, std::size_t bytes);

  /// Remembers where the allocator's block ends that begins with this result, which a call has used before.
  void remember_block(platform::Span result, std::uintptr_t end);
  /// 0: not known.
  std::uintptr_t end_of_block(platform::Span result) const;

  /// The memory of the span is gone or new.
  void forget(platform::Span span);

 private:
  /// Rare: the memory of results that go home is page-locked, which a probe ends.
  static constexpr platform::Pauses probes = {.growth = 8};
  /// Memory that held the operands of calls, one within the other.
  struct Region {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t kind = 0;             ///< of the latest result
    bool is_new = false;                ///< what becomes of its first result is not known yet
    std::size_t left = 0;               ///< bytes, of the latest result
    std::size_t touched = 0;            ///< bytes, since then, that did not stay once more
    double cost = 0;                    ///< of touching those, in bytes that come home during their calls
    double saved = 0;                   ///< bytes that did not come home, less what touching others has cost
    platform::Backoff backoff{probes};  ///< counts uses by the device until the next probe
    std::uintptr_t end_of_block = 0;    ///< of an allocator's block that begins with the region; 0: not known
  };
  /// The latest results in new memory, by a routine and size class.
  struct Kind {
    int looked_at = 0;  ///< in a row
    int unseen = 0;     ///< that were used or freed unseen, less some for each that was looked at
    int refused = 0;    ///< results that went home without being asked about
  };
  Region* region_of(platform::Span span);
  const Region* region_of(platform::Span span) const;
  static bool is_small_part(const operation::Operand& operand, const Region& region);
  static bool was_touched(const Region& region);
  static bool has_failed(const Region& region);
  static void count_touched(Region& region, std::size_t bytes, double cost);
  static void count_left_again(Region& region, std::size_t left);
  static void count_stayed(Region& region, std::size_t left);
  Stay judge_new(std::uint64_t kind) const;
  void learn(Region& region, bool looked_at);

  platform::RecentMap<std::uintptr_t, Region> regions_{platform::max_matrices_remembered};  // by begin
  platform::RecentMap<std::uint64_t, Kind> kinds_{4096};
};

}  // namespace blastoff::residency::mirror
