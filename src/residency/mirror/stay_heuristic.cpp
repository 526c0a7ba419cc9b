#include "residency/mirror/stay_heuristic.h"

#include <algorithm>

#include "residency/footprint.h"
#include "residency/mirror/tracking_heuristic.h"

namespace blastoff::residency::mirror {

using platform::Span;

namespace {

// A probe costs the program a page fault that waits for the device. A call with a smaller result would feel it.
constexpr std::size_t worth_a_probe = std::size_t{16} << 20;

// In new memory. Whole results stay if enough of the latest were not seen. Bringing one later takes little longer than
// writing it to pages that the kernel has yet to make.
constexpr int max_looked_at = 2;
constexpr int enough_unseen = 3;
constexpr int max_unseen = 12;
constexpr int unseen_for_a_look = 4;
constexpr int refused_before_a_probe = 16;

/// Bytes that are touched later cost the program as much as so many times more that come home during their calls. What
/// a call on the CPU needs comes at once, at the rate of the link.
constexpr double cost_of_touching = 8;
constexpr double cost_of_leaving = 2;
/// A piece that tells whether the program looks at the rest is a smaller share of the region.
constexpr std::size_t share_of_a_probe = 16;
/// What was long ago counts no more than that, in sizes of the region.
constexpr double max_saved = 64;

}  // namespace

/// The region that contains the span.
StayHeuristic::Region* StayHeuristic::region_of(Span span) {
  Region* const found = regions_.find_up_to(span.begin);
  return found && found->end >= span.end ? found : nullptr;
}

const StayHeuristic::Region* StayHeuristic::region_of(Span span) const {
  const Region* const found = regions_.find_up_to(span.begin);
  return found && found->end >= span.end ? found : nullptr;
}

/// Whether what becomes of the operand tells little about the region. A few rows of a matrix may reach from its begin
/// to its end.
bool StayHeuristic::is_small_part(const operation::Operand& operand, const Region& region) {
  return 4 * operand.payload_bytes() < region.end - region.begin;
}

/// Whether the program has touched much of what was left.
bool StayHeuristic::was_touched(const Region& region) {
  return region.left > 0 && 4 * region.touched >= region.left;
}

/// Whether it was a mistake to leave what was left.
bool StayHeuristic::has_failed(const Region& region) {
  return was_touched(region) && region.cost > region.saved;
}

void StayHeuristic::count_stayed(Region& region, std::size_t left) {
  const double most = max_saved * static_cast<double>(region.end - region.begin);
  region.saved = std::min(region.saved + static_cast<double>(left), most);
}

void StayHeuristic::count_touched(Region& region, std::size_t bytes, double cost) {
  region.touched += bytes;
  region.cost += cost * static_cast<double>(bytes);
}

/// So much of what the program has touched has stayed once more.
void StayHeuristic::count_left_again(Region& region, std::size_t left) {
  if (region.touched == 0) return;
  const std::size_t again = std::min(region.touched, left);
  region.cost -= region.cost * static_cast<double>(again) / static_cast<double>(region.touched);
  region.touched -= again;
}

Stay StayHeuristic::judge(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  const Region* const known = region_of(bounds(operand));
  if (known && known->left > 0) return has_failed(*known) ? Stay::no : Stay::whole;
  if (operand.payload_bytes() < worth_a_probe) return Stay::no;
  if (known) return known->backoff.is_over() ? Stay::probe : Stay::no;
  return judge_new(kind_of(call, index));
}

Stay StayHeuristic::judge_new(std::uint64_t number) const {
  const Kind* const kind = kinds_.find(number);
  if (!kind) return Stay::probe;
  if (kind->unseen >= enough_unseen) return Stay::whole;
  return kind->looked_at >= max_looked_at && kind->refused < refused_before_a_probe ? Stay::no : Stay::probe;
}

bool StayHeuristic::expects_to_stay(const operation::Operation& call, std::size_t index) const {
  const operation::Operand& result = call.operands()[index];
  const Region* const known = region_of(bounds(result));
  if (known) return known->left > 0 && !has_failed(*known);
  return result.payload_bytes() >= worth_a_probe && judge_new(kind_of(call, index)) == Stay::whole;
}

/// The device uses the region again, or it is freed. So it is known now whether the program looked at its result.
void StayHeuristic::learn(Region& region, bool looked_at) {
  Kind& kind = kinds_.use(region.kind);
  kind.looked_at = looked_at ? kind.looked_at + 1 : 0;
  kind.refused = 0;
  if (!region.is_new) return;
  region.is_new = false;
  kind.unseen = looked_at ? std::max(kind.unseen - unseen_for_a_look, 0) : std::min(kind.unseen + 1, max_unseen);
}

void StayHeuristic::forget(Span span) {
  regions_.erase_within(span.begin, span.end, [&](Region& region) {
    if (region.left > 0) learn(region, has_failed(region));
  });
}

void StayHeuristic::used(const operation::Operation& call, std::size_t index, std::size_t left) {
  const Span span = bounds(call.operands()[index]);
  Region* known = region_of(span);
  const bool writes = operation::writes(call.operands()[index].intent);
  if (!known) {
    known = &regions_.use(span.begin);
    *known = {.begin = span.begin, .end = span.end, .is_new = left > 0};
    const std::uint64_t number = kind_of(call, index);
    if (Kind* const kind = kinds_.find(number); kind && judge_new(number) == Stay::no) ++kind->refused;
  }
  Region& region = *known;
  if (is_small_part(call.operands()[index], region)) {
    if (writes) {
      count_left_again(region, left);
      count_stayed(region, left);
    }
    return;
  }
  region.backoff.count();
  if (region.left > 0) {
    const bool failed = has_failed(region);
    if (was_touched(region)) {
      region.saved = std::max(0.0, region.saved - region.cost);
      region.touched = 0;
      region.cost = 0;
    } else {
      count_stayed(region, left);
    }
    learn(region, failed);
    if (failed) {
      region.backoff.failed();
      region.left = 0;
    }
  }
  if (!writes) return;
  if (left == 0 && !region.backoff.has_failed()) region.backoff.failed();
  region.kind = kind_of(call, index);
  region.left = left;
  region.touched = 0;
  region.cost = 0;
}

void StayHeuristic::remember_block(Span result, std::uintptr_t end) {
  if (Region* const known = region_of(result); known && known->begin == result.begin) known->end_of_block = end;
}

std::uintptr_t StayHeuristic::end_of_block(Span result) const {
  const Region* const known = region_of(result);
  return known && known->begin == result.begin ? known->end_of_block : 0;
}

void StayHeuristic::touched(Span pages, std::size_t bytes) {
  Region* const known = regions_.find_up_to(pages.end - 1);
  if (known && known->left > 0 && known->end > pages.begin) count_touched(*known, bytes, cost_of_touching);
}

void StayHeuristic::left_to_cpu(Span pages, std::size_t bytes) {
  Region* const known = regions_.find_up_to(pages.end - 1);
  if (!known || known->end <= pages.begin) return;
  if (share_of_a_probe * known->left < known->end - known->begin)
    known->left = 0;
  else
    count_touched(*known, bytes, cost_of_leaving);
}

}  // namespace blastoff::residency::mirror
