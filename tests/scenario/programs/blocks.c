/* Blocks in C: matrices that are filled on the host and multiplied on the device, blocks over the program's own memory,
 * which it writes in between, and every kind of error. Prints "right" or what is wrong. */
#include "blastoff_blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { order = 40, count = order * order };

static int failures = 0;

static void check(int line, const char* what, int holds) {
  if (holds) return;
  printf("line %d: WRONG: %s (%s)\n", line, what, blastoff_blocks_message());
  ++failures;
}
#define CHECK(what) check(__LINE__, #what, what)
#define DONE(call) CHECK((call) == BLASTOFF_OK)

static double value(int index, int step) {
  return (double)((index * 7 + step * 5) % 11) - 5;
}

static void multiply(const double* a, const double* b, double* c) {
  for (int j = 0; j < order; ++j)
    for (int i = 0; i < order; ++i) {
      double sum = 0;
      for (int l = 0; l < order; ++l) sum += a[i + l * order] * b[l + j * order];
      c[i + j * order] = sum;
    }
}

static void contract(blastoff_block* a, blastoff_block* b, blastoff_block* c, int place) {
  const long long extents[2] = {order, order};
  const double one = 1;
  const double zero = 0;
  const blastoff_tensor first = {a, "ik", extents};
  const blastoff_tensor second = {b, "kj", extents};
  const blastoff_tensor result = {c, "ij", extents};
  DONE(blastoff_block_contract(BLASTOFF_DOUBLE, &one, &first, &second, &zero, &result, place));
}

static void fill(blastoff_block* block, int step) {
  void* address = NULL;
  DONE(blastoff_block_acquire(block, BLASTOFF_HOST, BLASTOFF_WRITE, NULL, &address));
  for (int i = 0; i < count; ++i) ((double*)address)[i] = value(i, step);
  DONE(blastoff_block_release(block, BLASTOFF_HOST, NULL));
}

static void errors(blastoff_block* block, int place) {
  void* address = NULL;
  blastoff_block* empty = NULL;
  const double number = 1;
  CHECK(blastoff_block_create(0, &empty) == BLASTOFF_BAD_ARGUMENT && empty == NULL);
  CHECK(blastoff_block_acquire(NULL, BLASTOFF_HOST, BLASTOFF_READ, NULL, &address) == BLASTOFF_BAD_ARGUMENT);
  CHECK(blastoff_block_acquire(block, 99, BLASTOFF_READ, NULL, &address) == BLASTOFF_BAD_ARGUMENT);
  CHECK(strstr(blastoff_blocks_message(), "99") != NULL);
  CHECK(blastoff_block_acquire(block, BLASTOFF_HOST, (enum blastoff_access)7, NULL, &address) == BLASTOFF_BAD_ARGUMENT);
  CHECK(blastoff_block_fill(block, (enum blastoff_type)7, &number, BLASTOFF_HOST) == BLASTOFF_BAD_ARGUMENT);
  CHECK(blastoff_block_acquire(block, BLASTOFF_HOST, BLASTOFF_READ, &address, &address) == BLASTOFF_BAD_ARGUMENT);
  CHECK(blastoff_block_release(block, place, NULL) == BLASTOFF_NOT_HELD);
  DONE(blastoff_block_acquire(block, place, BLASTOFF_UPDATE, NULL, &address));
  CHECK(blastoff_block_acquire(block, BLASTOFF_HOST, BLASTOFF_READ, NULL, &address) == BLASTOFF_CONFLICT);
  CHECK(address == NULL);
  CHECK(blastoff_block_destroy(block) == BLASTOFF_CONFLICT);
  DONE(blastoff_block_release(block, place, NULL));
  DONE(blastoff_block_create(8, &empty));
  CHECK(blastoff_block_acquire(empty, place, BLASTOFF_READ, NULL, &address) == BLASTOFF_NOTHING_THERE);
  DONE(blastoff_block_destroy(empty));
  DONE(blastoff_block_destroy(NULL));
}

int main(void) {
  const int devices = blastoff_blocks_devices();
  const int place = devices > 0 ? 0 : BLASTOFF_HOST;
  static double a[count];
  static double b[count];
  static double expected[count];
  blastoff_block* first = NULL;
  blastoff_block* second = NULL;
  blastoff_block* result = NULL;
  double* mine = malloc(count * sizeof(double));
  void* address = NULL;
  errno = 0;
  DONE(blastoff_block_create(sizeof a, &first));
  DONE(blastoff_block_create(sizeof b, &result));
  for (int i = 0; i < count; ++i) mine[i] = value(i, 3);
  DONE(blastoff_block_create_over(mine, sizeof b, &second));
  CHECK(blastoff_block_bytes(first) == sizeof a);
  for (int step = 0; step < 5; ++step) {
    fill(first, step);
    mine[step * 300] = step; /* writes without acquiring the block */
    DONE(blastoff_block_prefetch(first, place));
    contract(first, second, result, place);
    for (int i = 0; i < count; ++i) a[i] = value(i, step);
    memcpy(b, mine, sizeof b);
    multiply(a, b, expected);
    DONE(blastoff_block_acquire(result, BLASTOFF_HOST, BLASTOFF_READ, NULL, &address));
    CHECK(memcmp(address, expected, sizeof expected) == 0);
    DONE(blastoff_block_release(result, BLASTOFF_HOST, NULL));
  }
  contract(first, result, second, place); /* a result in the program's memory */
  CHECK(blastoff_block_newest(second) == place);
  DONE(blastoff_block_evict(second, place));
  multiply(a, expected, b);
  DONE(blastoff_block_destroy(second));
  CHECK(memcmp(mine, b, sizeof b) == 0);
  errors(first, place);
  CHECK(errno == 0);
  blastoff_blocks_counters counters;
  DONE(blastoff_blocks_get_counters(&counters));
  CHECK(counters.contractions == 6);
  CHECK(devices == 0 || counters.copies_to_device > 0);
  CHECK((devices > 0) == (counters.copies_from_device > 0));
  DONE(blastoff_block_destroy(first));
  DONE(blastoff_block_destroy(result));
  DONE(blastoff_blocks_synchronize());
  DONE(blastoff_blocks_trim());
  DONE(blastoff_blocks_get_counters(&counters));
  CHECK(counters.host_bytes == 0 && counters.device_bytes == 0);
  free(mine);
  printf("%d devices: %s\n", devices, failures == 0 ? "right" : "WRONG");
  return failures != 0;
}
