#include "residency/fresh_results.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/errno_guard.h"
#include "platform/kernel_interface.h"
#include "platform/span.h"
#include "residency/footprint.h"

namespace blastoff::residency {
namespace {

using platform::Span;

/// Smaller ones do not pay for waking threads.
constexpr std::size_t worth_threads = std::size_t{8} << 20;
constexpr std::size_t slice_bytes = std::size_t{4} << 20;
constexpr std::size_t looks = 16;

/// As far as some pages tell, evenly spread.
bool has_its_pages(Span span) {
  const std::size_t step = span.bytes() / looks / platform::page_size() * platform::page_size();
  for (std::uintptr_t at = span.begin; at < span.end; at += step) {
    unsigned char resident = 1;
    if (mincore(reinterpret_cast<void*>(at), platform::page_size(), &resident) == 0 && (resident & 1) == 0)
      return false;
  }
  return true;
}

void populate(Span span, platform::WorkerPool& workers) {
  const std::size_t slices = (span.bytes() + slice_bytes - 1) / slice_bytes;
  workers.run(slices, [&](std::size_t index) {
    const std::uintptr_t begin = span.begin + index * slice_bytes;
    // Where the program may not write, or the kernel is older than 5.14, nothing has been lost.
    madvise(reinterpret_cast<void*>(begin), std::min(slice_bytes, span.end - begin),
            platform::kernel::madv_populate_write);
  });
}

}  // namespace

void populate_fresh_results(const operation::Operation& operation, platform::WorkerPool& workers) {
  for (const operation::Operand& operand : operation.operands()) {
    if (operand.empty() || operand.transient || !operation::writes(operand.intent) ||
        operation::reads(operand.intent) || operand.payload_bytes() < worth_threads || !operand.contiguous())
      continue;
    const platform::ErrnoGuard keep_errno;
    const Span span = platform::inward_to_pages(bounds(operand));
    if (!has_its_pages(span)) populate(span, workers);
  }
}

}  // namespace blastoff::residency
