#include "prediction/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "platform/quantity.h"

namespace blastoff::prediction {
namespace {

constexpr std::uintptr_t boundary = std::uintptr_t{2} << 20;

}  // namespace

void AddressSpace::add(platform::Span span) {
  // Extents cover whole chunks of mirrors, so no two extents share a chunk.
  span = {span.begin & ~(boundary - 1), (span.end + boundary - 1) & ~(boundary - 1)};
  auto next = extents_.upper_bound(span.begin);
  if (next != extents_.begin() && std::prev(next)->second.end >= span.begin) --next;
  while (next != extents_.end() && next->first <= span.end) {
    span = {std::min(span.begin, next->first), std::max(span.end, next->second.end)};
    next = extents_.erase(next);
  }
  extents_[span.begin] = {span.end, 0};
}

tl::expected<void, std::string> AddressSpace::reserve() {
  std::size_t bytes = boundary;
  for (const auto& [begin, extent] : extents_) bytes += extent.end - begin + boundary;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return tl::unexpected("the kernel reserves no " + platform::format_bytes(bytes) + " of addresses");
  std::uintptr_t place = (reinterpret_cast<std::uintptr_t>(memory) + boundary - 1) & ~(boundary - 1);
  for (auto& [begin, extent] : extents_) {
    extent.place = place;
    place += extent.end - begin + boundary;
  }
  return {};
}

std::uintptr_t AddressSpace::at(std::uintptr_t address) const {
  const auto next = extents_.upper_bound(address);
  if (next == extents_.begin()) return 0;
  const auto& [begin, extent] = *std::prev(next);
  return address < extent.end ? extent.place + (address - begin) : 0;
}

std::vector<platform::Span> AddressSpace::of(platform::Span span) const {
  std::vector<platform::Span> result;
  auto next = extents_.upper_bound(span.begin);
  if (next != extents_.begin()) --next;
  for (; next != extents_.end() && next->first < span.end; ++next) {
    const platform::Span common{std::max(span.begin, next->first), std::min(span.end, next->second.end)};
    if (common.empty()) continue;
    const std::uintptr_t place = next->second.place + (common.begin - next->first);
    result.push_back({place, place + common.bytes()});
  }
  return result;
}

}  // namespace blastoff::prediction
