// A result that has stayed on the device, for programs that look at it, do something to its memory, or end.
#pragma once

#include <sys/mman.h>

#include "scenario.h"

enum { N = 192, K = 24, COUNT = N * N, CALLS = 6 };
static const size_t bytes = COUNT * sizeof(double);
static double *a, *b, *c, *expected;

static inline double* mapped(void) {
  return mapped_doubles(COUNT);
}

/// Adds the product to the matrix several times, without a look at it, and to what is expected of it.
static inline void accumulate(double* matrix) {
  for (int call = 0; call < CALLS; ++call) {
    multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i)
        for (int l = 0; l < K; ++l) expected[i + j * N] += a[i + l * N] * b[l + j * K];
  }
}

static inline int is_right(double found, size_t element) {
  return fabs(found - expected[element]) <= 1e-10;
}

static inline int right(const double* found) {
  for (size_t i = 0; i < COUNT; ++i)
    if (!is_right(found[i], i)) return 0;
  return 1;
}

/// Whether zeros are found, and expects them.
static inline int zero(const double* found) {
  memset(expected, 0, bytes);
  return right(found);
}

/// Whether the result is right, and is so after more calls.
static inline int right_now_and_later(void) {
  const int now = right(c);
  accumulate(c);
  return now && right(c);
}

/// Makes the operands. A child that is forked between this and accumulate() sees what is expected, too.
static inline void prepare(double* result) {
  a = filled((size_t)N * K, 1);
  b = filled((size_t)K * N, 2);
  c = result;
  expected = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (expected == MAP_FAILED) abort();
}

struct result_case {
  const char* name;
  int (*holds)(void);
};

static inline int run_case(const struct result_case* cases, size_t count, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(name, cases[i].name)) {
      verdict(name, cases[i].holds());
      return scenario_status();
    }
  return 99;
}
