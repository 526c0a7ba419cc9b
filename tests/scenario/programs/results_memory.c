// A result that has stayed on the device, and what a program may do to its memory. Usage: results_memory CASE FILE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results.h"

static const char* path;  ///< a file that the program may write

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static const size_t page = 4096, numbers_per_page = 4096 / sizeof(double);

/// The advice succeeds, or fails, as it does on memory of the same kind that no call has used, and changes nothing.
static int keeps_all(int advice) {
  double* unused = mapped();
  fill(unused, COUNT, 4);
  const int expected_result = madvise(unused, bytes, advice), expected_errno = errno;
  const int result = madvise(c, bytes, advice);
  return result == expected_result && (result == 0 || errno == expected_errno) && right_now_and_later();
}

static int collapsed(void) {
  const size_t huge = 2 << 20;
  char* const around = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  c = (double*)(((uintptr_t)around + huge - 1) & ~(huge - 1));
  memset(expected, 0, bytes);
  accumulate(c);
  madvise(c, huge, MADV_COLLAPSE);  // the kernel may refuse
  return right_now_and_later();
}

static int in_huge_pages(void) {
  return keeps_all(MADV_HUGEPAGE) && keeps_all(MADV_NOHUGEPAGE);
}
static int populated(void) {
  return keeps_all(MADV_POPULATE_READ) && keeps_all(MADV_POPULATE_READ + 1);
}
static int paged_out(void) {
  return keeps_all(MADV_COLD) && keeps_all(MADV_PAGEOUT);
}
static int removed(void) {
  return keeps_all(MADV_REMOVE);
}
static int merged(void) {
  return keeps_all(MADV_MERGEABLE) && keeps_all(MADV_UNMERGEABLE);
}
static int not_dumped(void) {
  return keeps_all(MADV_DONTDUMP) && keeps_all(MADV_DODUMP);
}

/// A page that is freed lazily holds what it held, or zeros, until it is written.
static int freed_lazily(void) {
  if (madvise(c, bytes, MADV_FREE) != 0) return 0;
  for (size_t first = 0; first < COUNT; first += numbers_per_page) {
    const int zeros = c[first] == 0;
    c[first] = zeros ? 0 : expected[first];  // keeps the page
    for (size_t i = first; i < first + numbers_per_page && i < COUNT; ++i) {
      if (zeros) expected[i] = 0;
      if (!is_right(c[i], i)) return 0;
    }
  }
  return right_now_and_later();
}

static int child_finds(int (*as_expected)(const double* found)) {
  const pid_t child = fork();
  if (child == 0) _exit(as_expected(c) ? 0 : 1);
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

/// A child is not to have the memory, and then it is.
static int kept_from_children(void) {
  if (!keeps_all(MADV_DONTFORK)) return 0;
  accumulate(c);
  if (!keeps_all(MADV_DOFORK) || !child_finds(right)) return 0;
  accumulate(c);
  return child_finds(right) && right_now_and_later();
}

static int is_zero(const double* found) {
  for (size_t i = 0; i < COUNT; ++i)
    if (found[i] != 0) return 0;
  return 1;
}

static int wiped_in_children(void) {
  return madvise(c, bytes, MADV_WIPEONFORK) == 0 && child_finds(is_zero) && right_now_and_later();
}

static int inaccessible_for_a_while(void) {
  if (mprotect(c, bytes, PROT_NONE) != 0) return 0;
  double* const b_again = filled((size_t)K * N, 2);
  multiply(N, N, K, a, N, b_again, K, 0.0, mapped(), N);
  if (mprotect(c, bytes, PROT_READ | PROT_WRITE) != 0) return 0;
  return right_now_and_later();
}

static int unmapped(void) {
  if (munmap(c, bytes) != 0) return 0;
  double* const again = mmap(c, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  c = again;
  if (!zero(c)) return 0;
  accumulate(c);
  return right_now_and_later();
}

/// A page in the middle is unmapped, mapped anew, or dropped; the others are as before.
static int loses_a_page(int (*lose)(void* at)) {
  double* const lost = c + 20 * numbers_per_page;
  if (lose(lost) != 0) return 0;
  memset(expected + 20 * numbers_per_page, 0, page);
  return right_now_and_later();
}
static int unmap_and_map(void* at) {
  return munmap(at, page) != 0 || mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != at;
}
static int map_over(void* at) {
  return mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at;
}
static int map_file_over(void* at) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  return ftruncate(file, 4096) != 0 || mmap(at, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != at;
}
static int drop(void* at) {
  return madvise(at, page, MADV_DONTNEED);
}
static int unmapped_in_part(void) {
  return loses_a_page(unmap_and_map);
}
static int mapped_in_part(void) {
  return loses_a_page(map_over);
}
static int file_in_part(void) {
  return loses_a_page(map_file_over);
}
static int dropped_in_part(void) {
  return loses_a_page(drop);
}

static int grown(void) {
  double* const larger = mremap(c, bytes, 2 * bytes, MREMAP_MAYMOVE);
  if (larger == MAP_FAILED || larger[2 * COUNT - 1] != 0) return 0;
  c = larger;
  return right_now_and_later();
}

/// The result is at the beginning of its mapping, so that its pages are a mapping of their own by now.
static int grown_in_place(void) {
  char* const room = mmap(NULL, 4 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  c = mmap(room, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  munmap(room + bytes, 3 * bytes);
  memset(expected, 0, bytes);
  accumulate(c);
  if (mremap(c, bytes, 2 * bytes, 0) != c || c[2 * COUNT - 1] != 0) return 0;
  return right_now_and_later();
}

static int shrunk(void) {
  const size_t kept = bytes / 2 / page * page, numbers = kept / sizeof(double);
  if (mremap(c, bytes, kept, 0) != c) return 0;
  for (size_t i = 0; i < numbers; ++i)
    if (!is_right(c[i], i)) return 0;
  char* const after = (char*)c + kept;
  if (mmap(after, bytes - kept, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != after)
    return 0;
  memset(expected + numbers, 0, bytes - kept);
  return right_now_and_later();
}

/// The pages move; zeros are left, in which results may stay again.
static int moved_and_kept(void) {
  double* const moved = mremap(c, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  if (moved == MAP_FAILED || !right(moved)) return 0;
  double* const old = c;
  c = moved;
  if (!right_now_and_later()) return 0;
  if (!zero(old)) return 0;
  c = old;
  accumulate(c);
  return right_now_and_later();
}

/// A call is the first that reads the zeros.
static int moved_and_used(void) {
  double* const moved = mremap(c, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  double* const product = mapped();
  multiply(N, N, N, c, N, moved, N, 0.0, product, N);
  return is_zero(product) && is_zero(c) && right(moved);
}

static int moved_in_part(void) {
  const size_t begin = 10 * page, length = 30 * page;
  char* const target = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mremap((char*)c + begin, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, target) != target) return 0;
  for (size_t i = 0; i < length / sizeof(double); ++i)
    if (!is_right(((double*)target)[i], begin / sizeof(double) + i)) return 0;
  return mremap(target, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, (char*)c + begin) == (char*)c + begin &&
         right_now_and_later();
}

/// Without bringing every page of the process to memory: the simulated device's address space is large.
static int all_locked(void) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) return 1;  // this user may lock less
  const int there = right_now_and_later();
  munlockall();
  return there && right_now_and_later();
}

static int locked_on_fault(void) {
  if (mlock2(c, bytes, MLOCK_ONFAULT) != 0) return 1;
  const int there = right_now_and_later();
  munlock(c, bytes);
  return there && right_now_and_later();
}

static int registered_by_the_program(void) {
  const int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
  struct uffdio_api api = {.api = UFFD_API};
  if (descriptor < 0 || ioctl(descriptor, UFFDIO_API, &api) != 0) return 1;
  struct uffdio_register whole = {{(unsigned long)c, bytes / page * page}, UFFDIO_REGISTER_MODE_MISSING, 0};
  return ioctl(descriptor, UFFDIO_REGISTER, &whole) == 0 && right_now_and_later();
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  path = argv[2];
  prepare(mapped());
  accumulate(c);
  const struct result_case cases[] = {
      {"collapse", collapsed},
      {"huge-pages", in_huge_pages},
      {"populate", populated},
      {"page-out", paged_out},
      {"remove", removed},
      {"merge", merged},
      {"no-dump", not_dumped},
      {"free", freed_lazily},
      {"no-fork", kept_from_children},
      {"wipe-on-fork", wiped_in_children},
      {"no-access", inaccessible_for_a_while},
      {"unmap", unmapped},
      {"unmap-part", unmapped_in_part},
      {"map-part", mapped_in_part},
      {"map-file", file_in_part},
      {"drop-part", dropped_in_part},
      {"grow", grown},
      {"grow-in-place", grown_in_place},
      {"shrink", shrunk},
      {"move-and-keep", moved_and_kept},
      {"move-and-use", moved_and_used},
      {"move-part", moved_in_part},
      {"lock-all", all_locked},
      {"lock-on-fault", locked_on_fault},
      {"userfaultfd", registered_by_the_program},
  };
  return run_case(cases, sizeof cases / sizeof cases[0], argv[1]);
}
