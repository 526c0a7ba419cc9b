// Code that the scenario programs share: matrices, a product in plain loops to compare with BLAS, and verdicts to
// print. The output is the same with and without Blastoff. The exit status is the number of wrong verdicts.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);

static _Atomic int scenario_wrong = 0;

/// Prints "<what>: right" or "<what>: WRONG".
static inline void verdict(const char* what, int right) {
  if (!right) ++scenario_wrong;
  printf("%s: %s\n", what, right ? "right" : "WRONG");
  fflush(stdout);
}

static inline int scenario_status(void) {
  return scenario_wrong;
}

/// Fills an array with numbers in [-1, 1) that depend only on the seed.
static inline void fill(double* values, size_t count, unsigned seed) {
  unsigned long long state = seed * 2654435761ULL + 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    values[i] = (double)(state >> 11) / (double)(1ULL << 52) - 1.0;
  }
}

static inline double* filled(size_t count, unsigned seed) {
  double* values = malloc(count * sizeof(double));
  if (!values) abort();
  fill(values, count, seed);
  return values;
}

/// Pages of their own, with zeros.
static inline double* mapped_doubles(size_t count) {
  double* values = mmap(NULL, count * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (values == MAP_FAILED) abort();
  return values;
}

struct scenario_case {
  const char* name;
  void (*run)(void);
};

/// Runs the case of that name, and returns the exit status; 99: there is none.
static inline int run_scenario(const struct scenario_case* cases, size_t count, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(name, cases[i].name)) {
      cases[i].run();
      return scenario_status();
    }
  return 99;
}

/// c = a b + beta c, column-major, by BLAS.
static inline void multiply(int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta,
                            double* c, int ldc) {
  const double one = 1.0;
  dgemm_("N", "N", &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &ldc);
}

/// Whether `c` equals a b + beta before, computed here in plain loops. `c` and `before` have leading dimension ldc;
/// `before` is not read if beta is 0.
static inline int holds_product(int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta,
                                const double* before, const double* c, int ldc) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      double sum = 0, size = 0;
      for (int l = 0; l < k; ++l) {
        const double term = a[i + (size_t)l * lda] * b[l + (size_t)j * ldb];
        sum += term;
        size += fabs(term);
      }
      if (beta != 0) {
        sum += beta * before[i + (size_t)j * ldc];
        size += fabs(beta * before[i + (size_t)j * ldc]);
      }
      if (!(fabs(c[i + (size_t)j * ldc] - sum) <= 1e-13 * (k + 1) * (size + 1e-300))) return 0;
    }
  }
  return 1;
}

/// Multiplies by BLAS and checks the result.
static inline int multiplies(int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta,
                             double* c, int ldc) {
  const size_t count = (size_t)(n - 1) * ldc + m;
  double* before = malloc(count * sizeof(double));
  if (!before) abort();
  memcpy(before, c, count * sizeof(double));
  multiply(m, n, k, a, lda, b, ldb, beta, c, ldc);
  const int right = holds_product(m, n, k, a, lda, b, ldb, beta, before, c, ldc);
  free(before);
  return right;
}
