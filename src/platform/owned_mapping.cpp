#include "platform/owned_mapping.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

namespace blastoff::platform {
namespace {

// Not munmap(), which we wrap ourselves.
void unmap(Span span) {
  if (span.begin < span.end) syscall(SYS_munmap, span.begin, span.bytes());
}

}  // namespace

OwnedMapping::OwnedMapping(OwnedMapping&& other) noexcept : span_(std::exchange(other.span_, Span{})) {}

OwnedMapping& OwnedMapping::operator=(OwnedMapping&& other) noexcept {
  std::swap(span_, other.span_);
  return *this;
}

OwnedMapping::~OwnedMapping() {
  unmap(span_);
}

OwnedMapping OwnedMapping::reserved_like(Span span) {
  constexpr std::size_t large_page = std::size_t{2} << 20;
  constexpr std::size_t table_of_large_pages = std::size_t{1} << 30;
  for (const std::size_t alignment : {table_of_large_pages, large_page}) {
    if (span.bytes() < alignment && alignment != large_page) continue;
    const long found = syscall(SYS_mmap, nullptr, span.bytes() + alignment, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == -1) continue;
    const auto first = static_cast<std::uintptr_t>(found);
    const std::uintptr_t begin = first + (span.begin - first) % alignment;
    const Span kept{begin, begin + span.bytes()};
    unmap({first, kept.begin});
    unmap({kept.end, first + span.bytes() + alignment});
    return OwnedMapping(kept);
  }
  return {};
}

void OwnedMapping::free(Span part) const {
  madvise(reinterpret_cast<void*>(part.begin), part.bytes(), MADV_DONTNEED);
}

void OwnedMapping::keep_only_until(std::uintptr_t end, Span rest) {
  span_.end = end;
  unmap(rest);
}

}  // namespace blastoff::platform
