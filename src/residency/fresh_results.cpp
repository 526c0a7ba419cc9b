#include "residency/fresh_results.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/errno_guard.h"
#include "platform/fresh_pages.h"
#include "residency/footprint.h"

namespace blastoff::residency {
namespace {

using platform::Span;

/// Smaller ones do not pay for waking threads.
constexpr std::size_t worth_threads = std::size_t{8} << 20;
constexpr std::size_t slice_bytes = std::size_t{4} << 20;

void give_pages(Span span, platform::WorkerPool& workers) {
  const std::size_t slices = (span.bytes() + slice_bytes - 1) / slice_bytes;
  workers.run(slices, [&](std::size_t index) {
    const platform::ErrnoGuard keep_errno;
    const std::uintptr_t begin = span.begin + index * slice_bytes;
    platform::give_pages({begin, std::min(begin + slice_bytes, span.end)});
  });
}

}  // namespace

void populate_fresh_results(const operation::Operation& operation, platform::WorkerPool& workers) {
  for (const operation::Operand& operand : operation.operands()) {
    if (operand.empty() || operand.transient || !operation::writes(operand.intent) ||
        operation::reads(operand.intent) || operand.payload_bytes() < worth_threads || !operand.contiguous())
      continue;
    const Span pages = platform::inward_to_pages(bounds(operand));
    if (!platform::has_pages(pages)) give_pages(pages, workers);
  }
}

}  // namespace blastoff::residency
