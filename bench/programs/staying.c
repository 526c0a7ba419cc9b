// Programs that use their results on the device again and again, and look at them at the end, or at each.
// usage: staying CASE ORDER
// Prints one line of JSON: seconds of the calls and of the look at the end, and a weighted sum of the result.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*,
            double*, const int*);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*);
void dpotrf_(const char*, const int*, double*, const int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dlaswp_(const int*, double*, const int*, const int*, const int*, const int*, const int*);

static const double one = 1, minus_one = -1, zero = 0;
static const int one_step = 1;
static int n;

static struct Numbers matrix(size_t columns, uint64_t seed) {
  struct Numbers made = allocate_numbers((size_t)n * columns, 0);
  if (seed != 0)
    fill_numbers(&made, seed, 1);
  else
    memset(made.data, 0, made.count * sizeof(double));
  return made;
}

static double* at(struct Numbers* of, int row, int column) {
  return (double*)of->data + (size_t)column * (size_t)n + (size_t)row;
}

static void make_dominant(struct Numbers* of) {
  for (int i = 0; i < n; ++i) *at(of, i, i) += n;
}

/* Results: the matrix to look at, the seconds of the calls, their number. */
struct Run {
  struct Numbers result;
  double seconds;
  int calls;
};

// C += A_i B_i, of depth 256.
static struct Run accumulate(void) {
  const int depth = 256, calls = 100;
  struct Numbers a = matrix(256, 1), b = matrix(256, 2), c = matrix((size_t)n, 0);
  double start = 0;
  for (int call = -5; call < calls; ++call) {
    if (call == 0) start = now();
    dgemm_("N", "T", &n, &n, &depth, &one, a.data, &n, b.data, &n, &one, c.data, &n);
  }
  return (struct Run){c, now() - start, calls};
}

// The same rank-n update, over and over.
static struct Run syrk(void) {
  const int calls = 200;
  struct Numbers a = matrix((size_t)n, 1), c = matrix((size_t)n, 0);
  double start = 0;
  for (int call = -10; call < calls; ++call) {
    if (call == 0) start = now();
    dsyrk_("L", "N", &n, &n, &one, a.data, &n, &zero, c.data, &n);
  }
  return (struct Run){c, now() - start, calls};
}

// A power of a matrix.
static struct Run power(void) {
  const int calls = 10;
  struct Numbers a = matrix((size_t)n, 1), x = matrix((size_t)n, 0), y = matrix((size_t)n, 0);
  const double scale = 2.0 / n;
  const double start = now();
  dgemm_("N", "N", &n, &n, &n, &scale, a.data, &n, a.data, &n, &zero, x.data, &n);
  for (int call = 1; call < calls; ++call) {
    dgemm_("N", "N", &n, &n, &n, &scale, a.data, &n, x.data, &n, &zero, y.data, &n);
    const struct Numbers last = x;
    x = y;
    y = last;
  }
  return (struct Run){x, now() - start, calls};
}

// Ten products, as NumPy makes them: each result is new memory, and the one before is freed. The last of six times
// counts.
static struct Run chain(void) {
  const int calls = 10, times = 6;
  const double scale = 2.0 / n;
  struct Numbers a = matrix((size_t)n, 1), first = matrix((size_t)n, 2);
  struct Run run = {first, 0, calls};
  for (int time = 0; time < times; ++time) {
    struct Numbers x = first;
    const double start = now();
    for (int call = 0; call < calls; ++call) {
      struct Numbers y = {.data = malloc(x.count * sizeof(double)), .count = x.count};
      if (!y.data) fail("out of memory");
      dgemm_("N", "N", &n, &n, &n, &scale, a.data, &n, x.data, &n, &zero, y.data, &n);
      if (call > 0) free(x.data);
      x = y;
    }
    run.seconds = now() - start;
    if (time > 0) free(run.result.data);
    run.result = x;
  }
  return run;
}

// Every result is looked at.
static struct Run look(void) {
  const int calls = 20;
  struct Numbers a = matrix((size_t)n, 1), b = matrix((size_t)n, 2), c = matrix((size_t)n, 0);
  double start = 0;
  for (int call = -5; call < calls; ++call) {
    if (call == 0) start = now();
    dgemm_("N", "N", &n, &n, &n, &one, a.data, &n, b.data, &n, &zero, c.data, &n);
    struct Checksum sum = {0, 0};
    add_to_checksum(&sum, &c);
  }
  return (struct Run){c, now() - start, calls};
}

// A Cholesky factorization in blocks of 256. Returns the number of calls.
static int factorize_cholesky(struct Numbers* a) {
  int calls = 0;
  for (int k = 0; k < n; k += 256) {
    const int width = n - k < 256 ? n - k : 256, rest = n - k - width;
    int info = 0;
    dpotrf_("L", &width, at(a, k, k), &n, &info);
    if (info != 0) fail("dpotrf returned %d", info);
    ++calls;
    if (rest == 0) break;
    dtrsm_("R", "L", "T", "N", &rest, &width, &one, at(a, k, k), &n, at(a, k + width, k), &n);
    dsyrk_("L", "N", &rest, &width, &minus_one, at(a, k + width, k), &n, &one, at(a, k + width, k + width), &n);
    calls += 2;
  }
  return calls;
}

// An LU factorization in blocks of 256.
static int factorize_lu(struct Numbers* a) {
  int* const pivots = malloc(sizeof(int) * (size_t)n);
  int calls = 0;
  for (int k = 0; k < n; k += 256) {
    const int width = n - k < 256 ? n - k : 256, rest = n - k - width, rows = n - k;
    int info = 0;
    dgetrf_(&rows, &width, at(a, k, k), &n, pivots + k, &info);
    if (info != 0) fail("dgetrf returned %d", info);
    ++calls;
    dlaswp_(&k, at(a, k, 0), &n, &one_step, &width, pivots + k, &one_step);
    if (rest == 0) break;
    dlaswp_(&rest, at(a, k, k + width), &n, &one_step, &width, pivots + k, &one_step);
    dtrsm_("L", "L", "N", "U", &width, &rest, &one, at(a, k, k), &n, at(a, k, k + width), &n);
    dgemm_("N", "N", &rest, &rest, &width, &minus_one, at(a, k + width, k), &n, at(a, k, k + width), &n, &one,
           at(a, k + width, k + width), &n);
    calls += 4;
  }
  free(pivots);
  return calls;
}

// A matrix is made and factorized several times, and the last time counts: programs factorize again and again, and the
// device is open by then.
static struct Run repeat(int (*factorize)(struct Numbers*)) {
  const int times = 3;
  struct Numbers a = matrix((size_t)n, 1);
  struct Run run = {a, 0, 0};
  for (int time = 0; time < times; ++time) {
    fill_numbers(&a, 1, 1);
    make_dominant(&a);
    const double start = now();
    run.calls = factorize(&a);
    run.seconds = now() - start;
  }
  return run;
}

static struct Run cholesky(void) {
  return repeat(factorize_cholesky);
}

static struct Run lu(void) {
  return repeat(factorize_lu);
}

int main(int count, char** arguments) {
  static const struct {
    const char* name;
    struct Run (*run)(void);
  } cases[] = {{"accumulate", accumulate}, {"syrk", syrk}, {"power", power}, {"chain", chain}, {"look", look},
               {"cholesky", cholesky},     {"lu", lu}};
  if (count != 3) fail("usage: staying CASE ORDER");
  n = atoi(arguments[2]);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    if (strcmp(cases[i].name, arguments[1]) != 0) continue;
    const struct Run run = cases[i].run();
    const double start = now();
    struct Checksum sum = {0, 0};
    add_to_checksum(&sum, &run.result);
    printf(
        "{\"case\": \"%s\", \"order\": %d, \"calls\": %d, \"seconds\": %.6f, \"look\": %.6f, \"sum\": %.17g, "
        "\"magnitude\": %.17g}\n",
        cases[i].name, n, run.calls, run.seconds, now() - start, sum.sum, sum.magnitude);
    return 0;
  }
  fail("unknown case %s", arguments[1]);
}
