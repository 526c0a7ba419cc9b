// Refuses one mremap(2), that with the number REFUSED (from 1), as the kernel does if a thread splits a mapping of the
// range meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void* mremap(void* address, size_t bytes, size_t new_bytes, int flags, ...) {
  static atomic_int calls;
  va_list rest;
  va_start(rest, flags);
  void* const target = va_arg(rest, void*);
  va_end(rest);
  if (atomic_fetch_add(&calls, 1) + 1 == atoi(getenv("REFUSED"))) {
    errno = EFAULT;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mremap, address, bytes, new_bytes, flags, target);
}
