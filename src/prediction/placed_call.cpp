#include "prediction/placed_call.h"

#include <algorithm>
#include <utility>

#include "prediction/recorded_operation.h"
#include "residency/footprint.h"
#include "runtime/gathered_locks.h"
#include "runtime/grid_root.h"

namespace blastoff::prediction {
namespace {

using platform::Span;
using scalapack::Call;

/// Without vectors and payload, as an operation of a trace.
std::optional<operation::Operation> replayed(const operation::Operation& operation) {
  Description description{.routine = operation.name(),
                          .arguments = operation.arguments(),
                          .work = operation.work,
                          .shape = operation.shape,
                          .may_fail = operation.may_fail};
  description.operands.assign(operation.operands().begin(), operation.operands().end());
  return operation_of(description);
}

bool overlaps(const std::vector<Span>& spans, Span span) {
  return std::ranges::any_of(spans, [&](Span each) { return each.begin < span.end && span.begin < each.end; });
}

/// Whether the first rank has changed its part of a matrix since an earlier call. The others are taken to do the same.
bool has_changed(const TracedCall& call, std::size_t operand) {
  const operation::Operand& own = call.operation.operands()[operand];
  if (own.empty()) return true;
  // The first and the last page hold other data, too.
  constexpr std::uintptr_t page = 4096;
  const Span all = residency::bounds(own);
  const Span whole_pages{(all.begin + page - 1) / page * page, all.end / page * page};
  const Span span = whole_pages.begin < whole_pages.end ? whole_pages : all;
  return overlaps(call.written, span) || overlaps(call.gone, span);
}

/// Redistribution by messages does not take vectors that a call reads along.
bool reads_vectors(const Call& call) {
  const auto reads = [&](scalapack::Argument argument, operation::Intent intent) {
    return call.has(argument) && intent == operation::Intent::read;
  };
  return reads(scalapack::Argument::ipiv, call.pivot_intent()) ||
         reads(scalapack::Argument::tau, call.reflector_intent());
}

}  // namespace

// As Segment::make() and ThroughMemory do.
SharedPlaces::SharedPlaces(std::size_t memory, bool one_node) : capacity_(memory / 4), one_node_(one_node) {}

Span SharedPlaces::memory_of(const PlacedCall& call) const {
  if (!one_node_) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(call.problem.base());
  return {begin, begin + call.problem.end()};
}

std::unique_ptr<PlacedCall> SharedPlaces::place(const TracedCall& traced) {
  const RecordedCall& recorded = *traced.distributed->whole;
  const Call& call = recorded.call();
  if (!call.may_be_gathered(recorded.grid())) return nullptr;
  scalapack::Places places(call);
  if (places.bytes() > capacity_ || (!one_node_ && reads_vectors(call))) return nullptr;
  const auto [known, is_first] = memories_.try_emplace(call.context());
  Memory& memory = known->second;
  if (is_first) {
    memory.memory = platform::SharedMemory::make(capacity_);
    memory.memory.withdraw();
    runtime::begin_segment(memory.span());
  }
  if (!memory.memory) return nullptr;
  std::byte* const base = memory.memory.data();
  scalapack::FoundPlaces found{.begins = places.begins()};
  if (one_node_) {
    found = memory.book.find(call, places, scalapack::PlaceBook::room(places, memory.taken, capacity_));
    places.move(found.begins);
    memory.taken = std::max(memory.taken, places.end());
  }
  auto whole = std::make_unique<PlacedCall>(call, places, base);
  const auto operation = whole->problem ? runtime::operation_of(whole->problem) : std::nullopt;
  const auto solve = operation ? replayed(*operation) : std::nullopt;
  if (!solve) return nullptr;
  whole->operation = *operation;
  whole->solve = *solve;
  std::size_t operand = 0;
  for (std::size_t i = 0; i < call.rules().size(); ++i) {
    if (!call.uses(call.rules()[i].matrix)) continue;
    if (!found.holds(i) || has_changed(traced, operand)) {
      const auto begin = reinterpret_cast<std::uintptr_t>(places.matrix(i, base).address);
      if (places.matrix_bytes(i) > 0) whole->changed.push_back({begin, begin + places.matrix_bytes(i)});
    }
    ++operand;
  }
  return whole;
}

}  // namespace blastoff::prediction
