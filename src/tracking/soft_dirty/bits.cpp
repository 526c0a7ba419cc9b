#include "tracking/soft_dirty/bits.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace blastoff::tracking {

namespace {

/// A page between two inaccessible ones. The kernel merges a new mapping with its neighbours, and all pages of the
/// merged mapping then read as soft-dirty. The inaccessible pages prevent this.
void* map_canary() {
  const std::size_t page = platform::page_size();
  void* pages = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  char* canary = static_cast<char*>(pages) + page;
  return mprotect(canary, page, PROT_READ | PROT_WRITE) == 0 ? canary : nullptr;
}

}  // namespace

SoftDirtyBits::SoftDirtyBits(Pagemap pagemap, void* canary)
    : pagemap_(std::move(pagemap)), canary_(static_cast<volatile char*>(canary)) {}

SoftDirtyBits::~SoftDirtyBits() {
  munmap(const_cast<char*>(canary_) - platform::page_size(), 3 * platform::page_size());
}

tl::expected<std::unique_ptr<SoftDirtyBits>, std::string> SoftDirtyBits::open() {
  auto pagemap = Pagemap::open();
  if (!pagemap) return tl::unexpected(pagemap.error());
  void* canary = map_canary();
  if (!canary) return tl::unexpected(std::string("mmap: ") + std::strerror(errno));
  std::unique_ptr<SoftDirtyBits> bits(new SoftDirtyBits(std::move(*pagemap), canary));
  if (auto works = bits->try_out(); !works) return tl::unexpected(works.error());
  return bits;
}

// On a kernel without soft-dirty bits, all of them read as set or all as clear.
tl::expected<void, std::string> SoftDirtyBits::try_out() {
  mark();
  const bool set_by_writing = undisturbed();
  if (const platform::Descriptor clearing = prepare_clear(); !clearing || !clear(clearing))
    return tl::unexpected(std::string("/proc/self/clear_refs: ") + std::strerror(errno));
  const bool cleared = !undisturbed();
  mark();
  if (set_by_writing && cleared && undisturbed()) return {};
  return tl::unexpected(std::string("this kernel has no soft-dirty bits (CONFIG_MEM_SOFT_DIRTY)"));
}

platform::Descriptor SoftDirtyBits::prepare_clear() {
  return platform::Descriptor(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
}

bool SoftDirtyBits::clear(const platform::Descriptor& prepared) {
  return write(prepared.get(), "4", 1) == 1;
}

bool SoftDirtyBits::undisturbed() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(canary_);
  PagemapEntry entry;
  return read({begin, begin + platform::page_size()}, &entry) && entry.soft_dirty();
}

void SoftDirtyBits::mark() {
  *canary_ = 1;
}

// Counting writes memory and may therefore take a page fault itself. If the thread's two counts are equal, there was
// none between them.
SoftDirtyBits::Faults SoftDirtyBits::faults() {
  const auto count = [](auto who) {
    rusage usage{};
    getrusage(who, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
  };
  for (;;) {
    const std::uint64_t own = count(RUSAGE_THREAD);
    const std::uint64_t all = count(RUSAGE_SELF);
    if (count(RUSAGE_THREAD) == own) return {own, all - own};
  }
}

}  // namespace blastoff::tracking
