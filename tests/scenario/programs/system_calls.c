// System calls on memory that BLAS has used; tracking must not make them fail. Usage: system_calls CASE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario.h"

enum { N = 96, COUNT = N * N };
static const size_t half = 1 << 20;
static double *b, *c;

static char* map(void* at, size_t bytes, int flags) {
  char* memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory;
}

static int multiplies_what_is_at(const void* matrix) {
  return multiplies(N, N, N, matrix, N, b, N, 0.0, c, N);
}

/// Two adjacent mappings, made one after the other, that the kernel would join. The first holds a matrix that was used.
static char* side_by_side(void) {
  // Reserves the place, so that nobody else, such as the device's driver, maps anything here before both mappings
  // exist.
  char* place = mmap(NULL, 4 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) abort();
  char* first = map(place, half, MAP_FIXED);
  fill((double*)first, COUNT, 7);
  verdict("used", multiplies_what_is_at(first) && multiplies_what_is_at(first));
  char* second = map(place + half, half, MAP_FIXED);
  memset(second, 'x', half);
  munmap(place + 2 * half, 2 * half);
  return first;
}

static int second_half_is_whole(const char* memory) {
  for (size_t i = half; i < 2 * half; ++i)
    if (memory[i] != 'x') return 0;
  return 1;
}

static void grow(void) {
  char* memory = side_by_side();
  errno = 1234;
  char* grown = mremap(memory, 2 * half, 16 * half, MREMAP_MAYMOVE);
  verdict("grown", grown != MAP_FAILED && errno == 1234);
  if (grown == MAP_FAILED) return;
  grown[16 * half - 1] = 1;
  verdict("contents", second_half_is_whole(grown) && multiplies_what_is_at(grown));
  ((double*)grown)[5] = 3;
  verdict("after a write", multiplies_what_is_at(grown));
  verdict("shrunk", mremap(grown, 16 * half, half, 0) == grown && multiplies_what_is_at(grown));
}

static void grow_in_place(void) {
  char* memory = side_by_side();
  verdict("grown", mremap(memory, 2 * half, 3 * half, 0) == memory);
  verdict("contents", second_half_is_whole(memory) && multiplies_what_is_at(memory));
  map(memory + 3 * half, 4096, MAP_FIXED_NOREPLACE);
  verdict("no room", mremap(memory, 3 * half, 4 * half, 0) == MAP_FAILED && errno == ENOMEM);
}

static void move(void) {
  char* memory = side_by_side();
  char* target = map(NULL, 2 * half, 0);
  fill((double*)target, COUNT, 9);
  verdict("target used", multiplies_what_is_at(target));
  verdict("moved", mremap(memory, 2 * half, 2 * half, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
  verdict("contents", second_half_is_whole(target) && multiplies_what_is_at(target));
}

/// Adjacent mappings with different protection, all used: some can be read and written, others only read.
static char* differing(int mappings) {
  char* memory = map(NULL, mappings * half, 0);
  for (int i = 0; i < mappings; ++i) {
    double* matrix = (double*)(memory + i * half);
    fill(matrix, COUNT, 20 + i);
    verdict("used", multiplies_what_is_at(matrix) && multiplies_what_is_at(matrix));
    if (i % 2 == 1) mprotect(matrix, half, PROT_READ);
  }
  return memory;
}

/// The result of the same call on memory that no BLAS has used.
static int moves_unused(int mappings, int hole, int flags, void* target) {
  char* memory = map(NULL, mappings * half, 0);
  for (int i = 1; i < mappings; i += 2) mprotect(memory + i * half, half, PROT_READ);
  if (hole >= 0) munmap(memory + hole * half, half);
  errno = 0;
  return mremap(memory, mappings * half, mappings * half, MREMAP_MAYMOVE | MREMAP_FIXED | flags, target) == MAP_FAILED
             ? errno
             : 0;
}

static void move_differing(int mappings, int hole, int flags) {
  char* target = map(NULL, mappings * half, 0);
  const int expected = moves_unused(mappings, hole, flags, target);
  munmap(target, mappings * half);
  map(target, mappings * half, MAP_FIXED);
  fill((double*)target, COUNT, 40);
  verdict("target used", multiplies_what_is_at(target) && multiplies_what_is_at(target));
  char* memory = differing(mappings);
  if (hole >= 0) munmap(memory + hole * half, half);
  errno = 0;
  void* moved = mremap(memory, mappings * half, mappings * half, MREMAP_MAYMOVE | MREMAP_FIXED | flags, target);
  verdict("as if unused", (moved == MAP_FAILED ? errno : 0) == expected);
  for (int i = 0; i < mappings; ++i)
    if (moved != MAP_FAILED && i != hole) verdict("contents", multiplies_what_is_at(target + i * half));
  if (moved == MAP_FAILED || !(flags & MREMAP_DONTUNMAP)) return;
  verdict("nothing left", ((double*)memory)[5] == 0 && multiplies_what_is_at(memory));
  fill((double*)memory, COUNT, 50);
  verdict("filled again", multiplies_what_is_at(memory) && multiplies_what_is_at(memory));
}

static void move_several(void) {
  move_differing(2, -1, 0);
  move_differing(3, -1, 0);
  move_differing(3, 1, 0);  // with a hole between the mappings
  move_differing(2, 0, 0);  // with a hole before them
  move_differing(2, -1, MREMAP_DONTUNMAP);
}

static void move_and_keep(void) {
  char* memory = side_by_side();
  char* moved = mremap(memory, 2 * half, 2 * half, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
  verdict("moved", moved != MAP_FAILED);
  if (moved == MAP_FAILED) return;
  verdict("contents", second_half_is_whole(moved) && multiplies_what_is_at(moved));
  verdict("nothing left", ((double*)memory)[5] == 0 && multiplies_what_is_at(memory));
}

static void refused(void) {
  char* memory = side_by_side();
  munmap(memory + half, half);
  errno = 0;
  verdict("a hole", mremap(memory, 2 * half, 4 * half, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
}

static int new_userfaultfd(void) {
  const int descriptor = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
  struct uffdio_api api = {.api = UFFD_API};
  return descriptor < 0 || ioctl(descriptor, UFFDIO_API, &api) ? -1 : descriptor;
}

/// The program uses its own userfaultfd on memory beside the matrix, and then on the matrix itself.
static void own_userfaultfd(void) {
  char* memory = map(NULL, 16 * half, 0);
  fill((double*)memory, COUNT, 11);
  verdict("used", multiplies_what_is_at(memory) && multiplies_what_is_at(memory));
  const int descriptor = new_userfaultfd();
  if (descriptor < 0) {
    printf("no userfaultfd\n");
    return;
  }
  struct uffdio_register beside = {{(unsigned long)(memory + 8 * half), half}, UFFDIO_REGISTER_MODE_MISSING, 0};
  errno = 1234;
  verdict("registered beside", ioctl(descriptor, UFFDIO_REGISTER, &beside) == 0 && errno == 1234);
  ((double*)memory)[5] = 2;
  verdict("still multiplied", multiplies_what_is_at(memory) && multiplies_what_is_at(memory));
  struct uffdio_register whole = {{(unsigned long)memory, half}, UFFDIO_REGISTER_MODE_MISSING, 0};
  verdict("registered", ioctl(descriptor, UFFDIO_REGISTER, &whole) == 0);
  ((double*)memory)[5] = 3;
  verdict("multiplied", multiplies_what_is_at(memory) && multiplies_what_is_at(memory));
  // Another matrix is mapped at the same address, and no event tells us.
  munmap(memory, half);
  map(memory, half, MAP_FIXED);
  fill((double*)memory, COUNT, 12);
  verdict("other memory", multiplies_what_is_at(memory) && multiplies_what_is_at(memory));
  // Memory that is registered with another userfaultfd is still refused.
  const int other = new_userfaultfd();
  errno = 0;
  verdict("its own conflict", ioctl(other, UFFDIO_REGISTER, &beside) != 0 && errno == EBUSY);
}

/// As in <linux/fs.h> of Linux 6.7.
struct scan {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask, any_of, returned;
};
enum { protect_matching = 1, is_written = 2 };

/// The program asks which pages have been written, and protects them.
static void scanned(void) {
  double* const memory = (double*)map(NULL, half, 0);
  fill(memory, COUNT, 11);
  const int pagemap = open("/proc/self/pagemap", O_RDONLY);
  uint64_t runs[3 * 16];
  struct scan scan = {sizeof scan,
                      protect_matching,
                      (uintptr_t)memory,
                      (uintptr_t)memory + half,
                      0,
                      (uintptr_t)runs,
                      16,
                      0,
                      0,
                      is_written,
                      0,
                      is_written};
  int right = 1;
  for (int i = 0; i < 5; ++i) {
    right &= multiplies_what_is_at(memory) && multiplies_what_is_at(memory);
    memory[i * 1000] = i;
    ioctl(pagemap, _IOWR('f', 16, struct scan), &scan);  // an older kernel refuses
  }
  verdict("multiplied", right);
}

static char* barrier;
static int fills = 0;

static void fill_anew(int signal) {
  (void)signal;
  mprotect(barrier, half, PROT_READ | PROT_WRITE);
  fill((double*)barrier, COUNT, 20 + ++fills);
}

/// A call touches memory that a handler of the fault fills, as in shared memory by software.
static void filled_at_a_fault(void) {
  double *x = (double*)map(NULL, half, 0), *z = (double*)map(NULL, half, 0), *before = filled(COUNT, 1);
  fill(x, COUNT, 11);
  for (int i = 0; i < 3; ++i) multiply(N, N, N, x, N, b, N, 0, z, N);
  signal(SIGSEGV, fill_anew);
  for (int i = 0; i < 3; ++i) {
    barrier = (char*)x;
    mprotect(x, half, PROT_NONE);
    verdict("operand", multiplies_what_is_at(x) && fills == 2 * i + 1);
    multiply(N, N, N, x, N, b, N, 0, z, N);
    barrier = (char*)z;
    mprotect(z, half, PROT_NONE);
    multiply(N, N, N, x, N, b, N, 1, z, N);
    fill(before, COUNT, 20 + fills);
    verdict("result", holds_product(N, N, N, x, N, b, N, 1, before, z, N) && fills == 2 * i + 2);
  }
}

static const struct scenario_case cases[] = {
    {"grow", grow},
    {"grow-in-place", grow_in_place},
    {"move", move},
    {"move-several", move_several},
    {"move-and-keep", move_and_keep},
    {"refused", refused},
    {"userfaultfd", own_userfaultfd},
    {"scan", scanned},
    {"filled-at-a-fault", filled_at_a_fault},
};

int main(int argc, char** argv) {
  b = filled(COUNT, 2);
  c = filled(COUNT, 3);
  return run_scenario(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : "");
}
