#include "residency/mirror/mirror_check.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

namespace {

// Counts the pages of [begin, begin + bytes) whose bytes differ from `copy`. `last_page` is the last page counted, so
// that no page is counted twice.
std::uint64_t differing_pages(std::uintptr_t begin, const char* copy, std::size_t bytes, std::uintptr_t& last_page) {
  std::uint64_t pages = 0;
  const std::size_t page = platform::page_size();
  for (std::uintptr_t at = begin; at < begin + bytes;) {
    const std::uintptr_t stop = std::min(begin + bytes, (at / page + 1) * page);
    if (std::memcmp(reinterpret_cast<const void*>(at), copy + (at - begin), stop - at) != 0 && at / page != last_page) {
      last_page = at / page;
      ++pages;
    }
    at = stop;
  }
  return pages;
}

}  // namespace

device::Result<std::uint64_t> repair_stale_pages(const PageAcquisition& acquisition, Staging& staging,
                                                 device::Queue& queue) {
  std::uint64_t stale = 0;
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (!operation::reads(operand.intent) || operand.empty() || acquisition.copied[i]) continue;
    std::vector<char> copy(operand.payload_bytes());
    const auto columns = static_cast<std::size_t>(operand.columns);
    Transfer back{copy.data(),
                  acquisition.addresses[i],
                  {operand.column_bytes(), columns, operand.column_bytes(), operand.stride_bytes()}};
    auto download = staging.download({&back, 1}, queue);
    if (!download) return tl::unexpected(download.error());
    if (auto finished = (*download)->finish(); !finished) return tl::unexpected(finished.error());

    std::uint64_t pages = 0;
    std::uintptr_t last_page = 0;
    for (std::int64_t column = 0; column < operand.columns; ++column) {
      const platform::Span span = column_span(operand, column);
      const std::uintptr_t top = bounds(operand).begin + static_cast<std::size_t>(column) * operand.stride_bytes();
      const char* mirrored =
          copy.data() + static_cast<std::size_t>(column) * operand.column_bytes() + (span.begin - top);
      pages += differing_pages(span.begin, mirrored, span.bytes(), last_page);
    }
    if (pages == 0) continue;
    stale += pages;
    const Transfer again{operand.address,
                         back.device,
                         {operand.column_bytes(), columns, operand.stride_bytes(), operand.stride_bytes()},
                         operand.part,
                         operand.element_size};
    if (auto uploaded = staging.upload({&again, 1}, queue); !uploaded) return tl::unexpected(uploaded.error());
  }
  return stale;
}

}  // namespace blastoff::residency::mirror
