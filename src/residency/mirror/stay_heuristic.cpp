#include "residency/mirror/stay_heuristic.h"

#include <algorithm>

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

using platform::Span;

/// The region that contains the span.
StayHeuristic::Region* StayHeuristic::region_of(Span span) {
  Region* const found = regions_.find_up_to(span.begin);
  return found && found->end >= span.end ? found : nullptr;
}

bool StayHeuristic::was_touched(const Region& region, Span operand) {
  return region.left && region.touched >= operand.bytes() / 4;
}

bool StayHeuristic::worth_leaving(const operation::Operation& call, std::size_t index) {
  const Span span = bounds(call.operands()[index]);
  const Region* const known = region_of(span);
  return known && known->uses >= known->patience && !was_touched(*known, span);
}

void StayHeuristic::used(const operation::Operation& call, std::size_t index, bool left) {
  const Span span = bounds(call.operands()[index]);
  Region* known = region_of(span);
  if (!known) {
    known = &regions_.use(span.begin);
    *known = {span.end};
  }
  Region& region = *known;
  if (was_touched(region, span)) {
    region.uses = 0;
    region.patience = std::min(4 * region.patience, longest_patience);
  } else {
    ++region.uses;
  }
  region.left = left;
  region.touched = 0;
}

void StayHeuristic::touched(Span pages) {
  Region* const known = regions_.find_up_to(pages.end - 1);
  if (known && known->left && known->end > pages.begin) known->touched += pages.bytes();
}

}  // namespace blastoff::residency::mirror
