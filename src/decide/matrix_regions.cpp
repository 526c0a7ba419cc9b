#include "decide/matrix_regions.h"

#include <algorithm>

namespace blastoff::decide {

std::uint64_t MatrixRegions::key_of(const operation::Operand& operand) {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto begin = reinterpret_cast<std::uintptr_t>(operand.address);
  const std::size_t column_bytes = operand.columns > 1 ? operand.stride_bytes() : 0;
  const std::uint64_t own_key = (begin ^ std::uint64_t{column_bytes} << 32) * 0x9e3779b97f4a7c15U | 1;
  if (operand.columns <= 1) return own_key;
  const std::uintptr_t end = begin + static_cast<std::size_t>(operand.columns) * column_bytes;
  const std::uint32_t now = clock_.fetch_add(1, relaxed) + 1;
  Region* oldest = &regions_.front();
  for (Region& region : regions_) {
    const std::uint32_t age = now - region.last_use.load(relaxed);
    if (age > now - oldest->last_use.load(relaxed)) oldest = &region;
    const std::uintptr_t first = region.begin.load(relaxed);
    const std::uintptr_t last = region.end.load(relaxed);
    const std::uint64_t key = region.key.load(relaxed);
    const bool same = key != 0 && region.column_bytes.load(relaxed) == column_bytes && begin <= last && first <= end;
    if (!same) continue;
    region.begin.store(std::min(first, begin), relaxed);
    region.end.store(std::max(last, end), relaxed);
    region.last_use.store(now, relaxed);
    return key;
  }
  oldest->key.store(own_key, relaxed);
  oldest->begin.store(begin, relaxed);
  oldest->end.store(end, relaxed);
  oldest->column_bytes.store(column_bytes, relaxed);
  oldest->last_use.store(now, relaxed);
  return own_key;
}

}  // namespace blastoff::decide
