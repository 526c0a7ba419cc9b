// mremap() and ioctl() as the program calls them. Watching memory has two effects that a program can see: the kernel
// joins no mapping that is watched to its neighbour, so that one mremap(2) over both fails; and memory that is watched
// cannot be registered with a userfaultfd of the program's own.
//
// The names carry the C library's version and are not the default ones of this library: who looks them up with dlsym(),
// as MPI libraries do to patch them for their registration caches, gets the C library's. Both functions take their
// variable argument where a fixed one would be.
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cerrno>

#include "platform/split_mappings.h"
#include "tracking/system_calls/next.h"
#include "tracking/uffd/memory_events.h"

#define BLASTOFF_EXPORT(function, name)                                   \
  __asm__(".symver " #function "," #name "@" BLASTOFF_C_LIBRARY_VERSION); \
  extern "C" [[gnu::visibility("default"), gnu::used]]

namespace {

using namespace blastoff;
using tracking::system_calls::next;

/// Between the end of our watch and the program's registration a call may have begun to watch anew.
[[gnu::noinline]] int register_surrendered(int descriptor, unsigned long request, void* argument) {
  constexpr int most_tries = 4;
  const uffdio_range& range = static_cast<const uffdio_register*>(argument)->range;
  for (int i = 0; i < most_tries && errno == EBUSY; ++i) {
    if (!tracking::surrender_memory({range.start, range.start + range.len})) errno = EBUSY;
    if (const int result = next.ioctl(descriptor, request, argument); result == 0) return 0;
  }
  return -1;
}

}  // namespace

BLASTOFF_EXPORT(program_mremap, mremap)
void* program_mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target) {
  const int saved_errno = errno;
  void* const result = next.mremap(address, bytes, new_bytes, flags, target);
  if (result != MAP_FAILED || errno != EFAULT || !tracking::memory_is_watched()) return result;
  void* const moved = platform::remap_pieces(next.mremap, address, bytes, new_bytes, flags, target);
  if (moved != MAP_FAILED) errno = saved_errno;
  return moved;
}

BLASTOFF_EXPORT(program_ioctl, ioctl)
int program_ioctl(int descriptor, unsigned long request, void* argument) {
  if (static_cast<unsigned>(request) != static_cast<unsigned>(UFFDIO_REGISTER)) [[likely]]
    return next.ioctl(descriptor, request, argument);
  const int saved_errno = errno;
  const int result = next.ioctl(descriptor, request, argument);
  if (result == 0 || errno != EBUSY || !tracking::memory_is_watched()) return result;
  const int retried = register_surrendered(descriptor, request, argument);
  if (retried == 0) errno = saved_errno;
  return retried;
}
