#include "prediction/unasked_writes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "platform/interval_set.h"
#include "residency/footprint.h"

namespace blastoff::prediction {
namespace {

using operation::Operand;
using platform::IntervalSet;
using platform::Span;

/// One operand of the calls at one place: site, routine, number of the operand.
using Place = std::tuple<std::size_t, operation::RoutineId, std::size_t>;

/// What happened to an operand's memory since its last use.
struct Change {
  std::size_t call;  ///< the call before which the change was seen
  double gone;       ///< share of its bytes that the program freed
  double written;
};

/// The changes of an operand, in the order of the calls.
struct Changes {
  std::vector<Change> between_two_uses;
  std::vector<Change> since_some_use;
};

double share_of(const IntervalSet& set, Span span) {
  std::size_t outside = 0;
  set.each_gap(span, [&](Span gap) { outside += gap.bytes(); });
  return 1 - static_cast<double>(outside) / static_cast<double>(span.bytes());
}

/// Follows the memory of the operands from call to call.
class Uses {
 public:
  struct Use {
    bool before = false;        ///< the memory has been used before
    bool asked_before = false;  ///< tracing looked for writes before that use
    double gone = 0;            ///< share of the memory that has gone since that use
  };

  void lose(const TracedCall& call) {
    for (const Span span : call.gone) gone_.add(span);
  }

  /// `call` uses the matrix now.
  Use next(const TracedCall& call, Span matrix) {
    const auto [last, first] = asked_.try_emplace(matrix.begin, call.asked);
    const Use use{.before = !first, .asked_before = !first && last->second, .gone = share_of(gone_, matrix)};
    last->second = call.asked;
    gone_.remove(matrix);
    return use;
  }

 private:
  std::map<std::uintptr_t, bool> asked_;  ///< begin of the memory -> TracedCall::asked of its last use
  IntervalSet gone_;                      ///< memory that has gone since its last use
};

std::map<Place, Changes> seen_changes(const std::vector<TracedCall>& calls) {
  std::map<Place, Changes> places;
  Uses uses;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    const TracedCall& call = calls[number];
    uses.lose(call);
    IntervalSet written;
    for (const Span span : call.written) written.add(span);
    residency::each_distinct_matrix(call.operation, [&](std::size_t number_of_operand, const Operand& operand) {
      const Span matrix = residency::bounds(operand);
      const Uses::Use use = uses.next(call, matrix);
      if (!call.asked || !use.before) return;
      Changes& changes = places[{call.site, call.operation.routine(), number_of_operand}];
      (use.asked_before ? changes.between_two_uses : changes.since_some_use)
          .push_back({number, use.gone, share_of(written, matrix)});
    });
  }
  return places;
}

const Change* nearest(const std::vector<Change>& changes, std::size_t call) {
  if (changes.empty()) return nullptr;
  const auto later = std::ranges::lower_bound(changes, call, {}, &Change::call);
  return later == changes.begin() ? &*later : &*std::prev(later);
}

const Change* likely_change(const Changes& changes, std::size_t call) {
  const Change* const direct = nearest(changes.between_two_uses, call);
  return direct != nullptr ? direct : nearest(changes.since_some_use, call);
}

Span first_part(Span span, double share) {
  return {span.begin, span.begin + static_cast<std::size_t>(share * static_cast<double>(span.bytes()))};
}

}  // namespace

void fill_in_unasked_writes(std::vector<TracedCall>& calls) {
  const std::map<Place, Changes> places = seen_changes(calls);
  Uses uses;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    TracedCall& call = calls[number];
    uses.lose(call);
    residency::each_distinct_matrix(call.operation, [&](std::size_t number_of_operand, const Operand& operand) {
      const Span matrix = residency::bounds(operand);
      const Uses::Use use = uses.next(call, matrix);
      if (call.asked || !use.before || use.gone > 0) return;
      const auto place = places.find({call.site, call.operation.routine(), number_of_operand});
      if (place == places.end()) return;
      const Change* const change = likely_change(place->second, number);
      // Memory is freed as a whole, but its last page may be the first page of another matrix.
      if (change->gone > 0.5) call.gone.push_back(platform::outward_to_pages(matrix));
      if (const Span written = first_part(matrix, change->written); written.bytes() >= platform::page_size())
        call.written.push_back(platform::outward_to_pages(written));
    });
  }
}

}  // namespace blastoff::prediction
