#include "tracking/system_calls/next.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace blastoff::tracking::system_calls {
namespace {

void* bare_mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, bytes, new_bytes, flags, target));
}

int bare_mprotect(void* address, std::size_t bytes, int protection) {
  return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}

int bare_ioctl(int descriptor, unsigned long request, void* argument) {
  return static_cast<int>(syscall(SYS_ioctl, descriptor, request, argument));
}

template <class Function>
void look_up(Function*& slot, const char* name) {
  if (void* found = dlvsym(RTLD_NEXT, name, BLASTOFF_C_LIBRARY_VERSION)) slot = reinterpret_cast<Function*>(found);
}

}  // namespace

constinit Next next = {bare_mremap, bare_mprotect, bare_ioctl};

void find_next() {
  look_up(next.mremap, "mremap");
  look_up(next.mprotect, "mprotect");
  look_up(next.ioctl, "ioctl");
}

}  // namespace blastoff::tracking::system_calls
