// What the device has of a call's operands, asked before it is decided where the call runs.
#include <algorithm>
#include <mutex>

#include "operation/movement.h"
#include "platform/span.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

namespace {

using platform::Span;

// Calls visit(pages) for some of the runs of pages that hold the operand, spread over all of it. The runs are chunks
// or, if whole pages lie between the columns, columns.
template <class Visit>
void each_sample(const operation::Operand& operand, Visit&& visit) {
  constexpr std::size_t max_samples = 64;
  const Span whole = bounds(operand);
  const bool by_columns =
      operand.columns > 1 && operand.stride_bytes() - operand.column_bytes() >= platform::page_size();
  const std::size_t step = by_columns ? operand.stride_bytes() : chunk_bytes;
  const std::size_t length = by_columns ? operand.column_bytes() : chunk_bytes;
  const std::size_t pieces = by_columns ? static_cast<std::size_t>(operand.columns) : (whole.bytes() - 1) / step + 1;
  const std::size_t samples = std::min(pieces, max_samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uintptr_t begin = whole.begin + i * pieces / samples * step;
    visit(platform::outward_to_pages({begin, std::min(begin + length, whole.end)}));
  }
}

}  // namespace

double Coherence::current_share(const operation::Operand& operand) const {
  Validity validity(operand, true);
  std::size_t looked_at = 0;
  std::size_t current = 0;
  each_sample(operand, [&](Span pages) {
    looked_at += pages.bytes();
    mirrors_.each_part(pages, [&](Chunk& chunk, Span part) {
      const PageNumbers numbers = page_numbers(part);
      PageBitmap whole = chunk.copy->current;
      whole.clear(chunk.copy->partial);
      current +=
          validity.known(chunk, part) ? part.bytes() : whole.count(numbers.first, numbers.last) * platform::page_size();
    });
  });
  return static_cast<double>(current) / static_cast<double>(looked_at);
}

std::optional<operation::Estimate> Coherence::estimate(const operation::Operation& call) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  operation::Estimate result;
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (operand.empty() || operand.transient) continue;
    const std::uint64_t bytes = operand.part_bytes();
    if (expects_to_stay(call, i)) result.staying += bytes;
    if (!operation::reads(operand.intent)) continue;
    const std::size_t left = place_.bytes_left(platform::outward_to_pages(bounds(operand)));
    result.only_there += std::min<std::uint64_t>(left, bytes);
    if (belongs_to_matrix(call) && !will_stay(call, i)) {
      result.missing += bytes;
      continue;
    }
    if (heuristic_.copied(call, i)) {
      result.dirty += bytes;
      continue;
    }
    const auto resident =
        static_cast<std::uint64_t>(place_.foreign() ? 0 : static_cast<double>(bytes) * current_share(operand));
    result.resident += resident;
    result.missing += bytes - resident;
  }
  return result;
}

/// Whether an operand is a result that will probably stay on the device. Under the lock.
bool Coherence::expects_to_stay(const operation::Operation& call, std::size_t index) const {
  const operation::Operand& operand = call.operands()[index];
  if (!source_ || !operation::writes(operand.intent)) return false;
  return results_ == Results::stay || stays_.expects_to_stay(call, index);
}

}  // namespace blastoff::residency::mirror
