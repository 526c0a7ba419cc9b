#include "working_set.h"

#include <stdio.h>
#include <stdlib.h>

size_t matrix_elements(const struct WorkingSet* set) {
  return (size_t)set->order * (size_t)set->order;
}

struct WorkingSet parse_working_set(const char* order, const char* mebibytes, const char* rounds) {
  struct WorkingSet set = {.order = atoi(order), .rounds = strtoul(rounds, NULL, 10)};
  const size_t bytes = strtoul(mebibytes, NULL, 10) << 20;
  if (set.order < 1 || set.rounds < 3) fail("an order of at least 1, and at least 3 rounds");
  const size_t pair = 2 * matrix_elements(&set) * sizeof(double);
  set.pairs = (bytes + pair / 2) / pair;
  if (set.pairs == 0) fail("a pair of matrices takes %zu MiB", pair >> 20);
  return set;
}

void fill_working_set(struct WorkingSet* set) {
  const size_t elements = set->pairs * matrix_elements(set);
  for (size_t i = 0; i < elements; ++i) {
    set->a[i] = (double)(i * 40503u & 1023u) / 1024.0 - 0.5;
    set->b[i] = (double)(i * 30011u & 1023u) / 1024.0 - 0.5;
  }
}

void go_through(const char* program, struct WorkingSet* set, Multiply* multiply) {
  const size_t elements = matrix_elements(set);
  double* samples = calloc(set->rounds, sizeof *samples);
  if (!samples) fail("out of memory");
  double checksum = 0;
  for (size_t round = 0; round < set->rounds; ++round) {
    const double started = now();
    for (size_t i = 0; i < set->pairs; ++i) {
      double* a = set->a + i * elements;
      a[(round * 524287u + i) % elements] += 0.125;
      multiply(set->order, a, set->b + i * elements, set->c);
      checksum += set->c[(round * 131071u + i * 17u) % elements];
    }
    samples[round] = (now() - started) / (double)set->pairs;
  }
  printf("{\"program\": \"%s\", \"order\": %d, \"pairs\": %zu, \"first_seconds\": %.9g, ", program, set->order,
         set->pairs, samples[0]);
  print_statistics("seconds", summarize(samples + 2, set->rounds - 2));
  printf(", \"checksum\": %.17g}\n", checksum);
  free(samples);
}
