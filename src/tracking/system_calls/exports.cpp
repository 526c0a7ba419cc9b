// Wrappers of mremap(), mprotect() and ioctl() for the program. Watching memory has four effects that a program could
// see, and the wrappers hide them. The kernel does not merge a watched mapping with its neighbours, so one mremap(2)
// over both fails. Since Linux 6.17, one mremap(2) moves several mappings, unless one of them is watched. Watched
// memory cannot be registered with a userfaultfd of the program's own. And where the program asks which pages have been
// written and protects them (PAGEMAP_SCAN), as if they were its own, we would not hear of these writes.
//
// A program that makes memory unreadable may fill it in its handler of the fault: a cache of a file, or shared memory
// in software. Mirrors would be read without a fault, so they end, and results that have stayed come home before.
//
// The exported names carry the C library's version and are not the default versions of this library. So dlsym() finds
// the C library's functions, which MPI libraries patch for their registration caches. The wrappers of mremap() and
// ioctl() declare the variable argument of the C library's function as a fixed one, which is passed in the same place.
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "platform/errno_guard.h"
#include "platform/kernel_interface.h"
#include "platform/mapping_extents.h"
#include "platform/mappings.h"
#include "platform/span.h"
#include "platform/split_mappings.h"
#include "tracking/system_calls/next.h"
#include "tracking/uffd/memory_events.h"

#define BLASTOFF_EXPORT(function, name)                                   \
  __asm__(".symver " #function "," #name "@" BLASTOFF_C_LIBRARY_VERSION); \
  extern "C" [[gnu::visibility("default"), gnu::used]]

namespace {

using namespace blastoff;
using platform::Span;
using tracking::system_calls::next;

/// Repeats the registration, since another call may watch the memory again between the end of our watch and the
/// program's registration.
[[gnu::noinline]] int register_surrendered(int descriptor, unsigned long request, void* argument) {
  constexpr int max_tries = 4;
  const uffdio_range& range = static_cast<const uffdio_register*>(argument)->range;
  for (int i = 0; i < max_tries && errno == EBUSY; ++i) {
    if (!tracking::surrender_memory({range.start, range.start + range.len})) errno = EBUSY;
    if (const int result = next.ioctl(descriptor, request, argument); result == 0) return 0;
  }
  return -1;
}

/// Whether the call moves all of the memory, as it is, to a given place. What the kernel refuses does not.
bool only_moves(Span from, Span to, int flags) {
  return (flags & MREMAP_FIXED) != 0 && !from.empty() && from.bytes() == to.bytes() && !from.overlaps(to);
}

/// One mapping at a time, since a mapping of a file beside them cannot be asked about.
void surrender_mappings(Span memory) {
  platform::each_mapping_extent([&](Span mapping) {
    const Span part = {std::max(mapping.begin, memory.begin), std::min(mapping.end, memory.end)};
    if (!part.empty()) tracking::surrender_memory(part);
  });
}

/// The kernel moves several mappings one after the other, and stops at the first that is watched. So the watch ends
/// before: what moves loses its mirrors anyway.
[[gnu::noinline]] void surrender_several(Span memory) {
  const platform::ErrnoGuard errno_stays;
  const auto first = platform::Mappings().covering(memory.begin);
  if (first && first->span.end < memory.end) surrender_mappings(memory);
}

/// Memory that is the program's alone is protected and not watched, so this does nothing for it.
[[gnu::noinline]] void surrender_to(const platform::kernel::PagemapScan& scan) {
  const platform::ErrnoGuard errno_stays;
  if ((scan.flags & platform::kernel::scan_protect_matching) != 0) surrender_mappings({scan.start, scan.end});
}

bool is_page(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % platform::page_size() == 0;
}

Span pages_at(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return platform::outward_to_pages({begin, begin + bytes});
}

/// mremap(2) while memory is watched. Threads of ours split mappings and join them meanwhile, so a refusal is tried
/// again.
[[gnu::noinline]] void* remap_watched(void* address, std::size_t bytes, std::size_t new_bytes, int flags,
                                      void* target) {
  constexpr int max_tries = 8;
  const int saved_errno = errno;
  const Span from = pages_at(address, bytes);
  const Span to = pages_at(target, new_bytes);
  // The kernel would move some of several mappings before it refuses the next.
  const bool moves = only_moves(from, to, flags) && is_page(address) && is_page(target);
  for (int i = 0; i < max_tries; ++i) {
    void* result = MAP_FAILED;
    errno = EFAULT;
    if (i > 0 || moves) result = platform::remap_pieces(next.mremap, address, bytes, new_bytes, flags, target);
    if (result == MAP_FAILED && errno == EFAULT) {
      if (moves) surrender_several(from);
      result = next.mremap(address, bytes, new_bytes, flags, target);
    }
    if (result != MAP_FAILED) errno = saved_errno;
    if (result != MAP_FAILED || errno != EFAULT) return result;
  }
  return MAP_FAILED;
}

}  // namespace

BLASTOFF_EXPORT(program_mremap, mremap)
void* program_mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target) {
  if (tracking::memory_is_watched()) return remap_watched(address, bytes, new_bytes, flags, target);
  return next.mremap(address, bytes, new_bytes, flags, target);
}

BLASTOFF_EXPORT(program_mprotect, mprotect)
int program_mprotect(void* address, std::size_t bytes, int protection) {
  if ((protection & PROT_READ) == 0 && tracking::memory_is_watched()) {
    const platform::ErrnoGuard errno_stays;
    tracking::surrender_memory(pages_at(address, bytes));
  }
  return next.mprotect(address, bytes, protection);
}

BLASTOFF_EXPORT(program_ioctl, ioctl)
int program_ioctl(int descriptor, unsigned long request, void* argument) {
  if (static_cast<unsigned>(request) == static_cast<unsigned>(platform::kernel::pagemap_scan) &&
      tracking::memory_is_watched() && argument != nullptr)
    surrender_to(*static_cast<const platform::kernel::PagemapScan*>(argument));
  if (static_cast<unsigned>(request) != static_cast<unsigned>(UFFDIO_REGISTER)) [[likely]]
    return next.ioctl(descriptor, request, argument);
  const int saved_errno = errno;
  const int result = next.ioctl(descriptor, request, argument);
  if (result == 0 || errno != EBUSY || !tracking::memory_is_watched()) return result;
  const int retried = register_surrendered(descriptor, request, argument);
  if (retried == 0) errno = saved_errno;
  return retried;
}
