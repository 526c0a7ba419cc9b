// Memory of operands, as sets of whole pages.
#pragma once

#include <tuple>
#include <variant>

#include "operation/operand.h"
#include "platform/interval_set.h"
#include "platform/recent_map.h"
#include "residency/footprint.h"

namespace blastoff::residency::in_place {

/// Not thread-safe. Whether an operand is in it takes well under a microsecond, however many columns it has.
class OperandSet {
 public:
  void add(const operation::Operand& operand) {
    std::size_t runs = 0;
    each_covered_run(operand, [&](platform::Span run) {
      pages_.add(run);
      ++runs;
    });
    if (runs > 1) strided_.use(strided(operand));
  }

  /// False for an operand with gaps between its columns of which others have added all pages.
  bool contains(const operation::Operand& operand) {
    return pages_.contains(platform::outward_to_pages(bounds(operand))) || strided_.find(strided(operand));
  }

  void remove(platform::Span span) {
    pages_.remove(span);
    strided_.erase_if([&](const Strided& matrix) { return matrix.bounds.overlaps(span); });
  }

 private:
  /// A matrix with gaps between its columns that are not its own, as it was added.
  struct Strided {
    platform::Span bounds;
    std::size_t stride = 0;
    std::size_t column = 0;
    friend auto operator<=>(const Strided& a, const Strided& b) {
      return std::tuple(a.bounds.begin, a.bounds.end, a.stride, a.column) <=>
             std::tuple(b.bounds.begin, b.bounds.end, b.stride, b.column);
    }
  };
  static Strided strided(const operation::Operand& operand) {
    return {platform::outward_to_pages(bounds(operand)), operand.stride_bytes(), operand.column_bytes()};
  }

  static constexpr std::size_t max_strided = std::size_t{1} << 14;  ///< remove() looks at all of them
  platform::IntervalSet pages_;
  platform::RecentMap<Strided, std::monostate> strided_{max_strided};  // whose pages are all in the set
};

}  // namespace blastoff::residency::in_place
