// Memory that the kernel writes for the program without using its page table: buffers registered with io_uring, by
// plain system calls. Usage: foreign_writers CASE FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io_ring.h"
#include "scenario.h"

enum { N = 96, COUNT = N * N, ROUNDS = 6 };
/// Size of the registered part: less than half of a matrix, since matrices that are rewritten as a whole are soon no
/// longer tracked.
static const size_t part = 16384;
static double *a, *b, *c, *d;

static double* mapped(unsigned seed) {
  double* matrix = mapped_doubles(COUNT);
  fill(matrix, COUNT, seed);
  return matrix;
}

static void registers(double* matrix) {
  const struct iovec buffer = {matrix, part};
  if (syscall(SYS_io_uring_register, ring.descriptor, IORING_REGISTER_BUFFERS, &buffer, 1)) abort();
}

static void unregisters(void) {
  if (syscall(SYS_io_uring_register, ring.descriptor, IORING_UNREGISTER_BUFFERS, NULL, 0)) abort();
}

/// Reads part number `which` of the file into the registered part of the matrix.
static void reads(double* matrix, int file, int which) {
  const struct io_uring_sqe request = {.opcode = IORING_OP_READ_FIXED,
                                       .fd = file,
                                       .off = (uint64_t)which * part,
                                       .addr = (uintptr_t)matrix,
                                       .len = (unsigned)part};
  if (ask_ring(request) != (int)part) abort();
}

static int product(const double* left) {
  return multiplies(N, N, N, left, N, b, N, 0.0, c, N);
}

/// The part is registered before the matrix was ever used.
static int before_use(int file) {
  registers(a);
  int right = 1;
  for (int round = 0; round < ROUNDS; ++round) {
    reads(a, file, round % 2);
    right &= product(a);
  }
  return right;
}

/// The part is registered while the matrix's mirror is current, and unregistered afterwards.
static int after_use(int file) {
  int right = product(a) && product(a);
  registers(a);
  for (int round = 0; round < ROUNDS; ++round) {
    reads(a, file, round % 2);
    right &= product(a);
  }
  unregisters();
  right &= product(a) && product(a);
  a[7] += 1;
  return right & product(a);
}

/// The registered matrix is a result that stays on the device, so that nothing is uploaded.
static int as_result(int file) {
  int right = product(a) && product(a) && multiplies(N, N, N, a, N, b, N, 0.0, d, N) && product(d);
  right &= multiplies(N, N, N, a, N, b, N, 0.0, d, N) && multiplies(N, N, N, a, N, b, N, 0.0, d, N);
  registers(d);
  multiply(N, N, N, a, N, b, N, 0.0, d, N);
  for (int round = 0; round < ROUNDS; ++round) {
    reads(d, file, round % 2);
    right &= product(d);
  }
  return right;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  a = mapped(1);
  b = mapped(2);
  c = mapped(3);
  d = mapped(4);
  const int file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
  for (unsigned seed = 5; seed < 7; ++seed) {
    double* content = filled(COUNT, seed);
    if (write(file, content, part) != (ssize_t)part) abort();
    free(content);
  }
  if (!open_ring()) {
    printf("no io_uring\n");
    return 0;
  }
  if (!strcmp(argv[1], "before-use"))
    verdict("registered before use", before_use(file));
  else if (!strcmp(argv[1], "after-use"))
    verdict("registered after use", after_use(file));
  else if (!strcmp(argv[1], "as-result"))
    verdict("registered result", as_result(file));
  else
    return 99;
  return scenario_status();
}
