// Products in batches, by each of the four functions. Argument: the library that has them.
#include <dlfcn.h>

#include "scenario.h"

enum { row_major = 101, column_major = 102, plain = 111, transposed = 112 };
enum { m = 40, n = 30, k = 20, products = 50, rounds = 3 };

static void* library;
static double *a, *b, *c;

static double entry_of(const double* matrix, int across, int leading, int i, int j) {
  return across ? matrix[j + (size_t)i * leading] : matrix[i + (size_t)j * leading];
}

/// Checks one product and clears it. `by_rows`: all matrices are stored by rows. `across_b`: B is transposed.
static int holds(const double* left, const double* right, double* result, int by_rows, int across_b) {
  int right_everywhere = 1;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0, size = 0;
      for (int l = 0; l < k; ++l) {
        const double term = entry_of(left, by_rows, by_rows ? k : m, i, l) *
                            entry_of(right, by_rows != across_b, by_rows != across_b ? n : k, l, j);
        sum += term;
        size += fabs(term);
      }
      double* const found = &result[by_rows ? j + (size_t)i * n : i + (size_t)j * m];
      if (!(fabs(*found - sum) <= 1e-13 * k * (size + 1e-300))) right_everywhere = 0;
      *found = NAN;
    }
  return right_everywhere;
}

static int all_hold(int by_rows, int across_b) {
  int right = 1;
  for (size_t i = 0; i < products; ++i) right &= holds(a + i * m * k, b + i * k * n, c + i * m * n, by_rows, across_b);
  return right;
}

static void strided(void) {
  void (*const fortran)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                        const int*, const int*, const double*, const int*, const int*, const double*, double*,
                        const int*, const int*, const int*, size_t, size_t) = dlsym(library, "dgemm_batch_strided_");
  void (*const cblas)(int, int, int, int, int, int, double, const double*, int, int, const double*, int, int, double,
                      double*, int, int, int) = dlsym(library, "cblas_dgemm_batch_strided");
  const int sizes[] = {m, n, k, m * k, k * n, m * n, products};
  const double one = 1, zero = 0;
  fortran("N", "T", &sizes[0], &sizes[1], &sizes[2], &one, a, &sizes[0], &sizes[3], b, &sizes[1], &sizes[4], &zero, c,
          &sizes[0], &sizes[5], &sizes[6], 1, 1);
  verdict("strided, Fortran", all_hold(0, 1));
  cblas(row_major, plain, plain, m, n, k, 1, a, k, m * k, b, n, k * n, 0, c, n, m * n, products);
  verdict("strided, C by rows", all_hold(1, 0));
}

static void grouped(void) {
  void (*const fortran)(const char*, const char*, const int*, const int*, const int*, const double*, const double**,
                        const int*, const double**, const int*, const double*, double**, const int*, const int*,
                        const int*, size_t, size_t) = dlsym(library, "dgemm_batch_");
  void (*const cblas)(int, const int*, const int*, const int*, const int*, const int*, const double*, const double**,
                      const int*, const double**, const int*, const double*, double**, const int*, int, const int*) =
      dlsym(library, "cblas_dgemm_batch");
  const int ms[] = {m, m}, ns[] = {n, n}, ks[] = {k, k}, sizes[] = {products - 10, 10}, groups = 2, one_group = 1;
  const int all = products, options[] = {plain, plain};
  const double ones[] = {1, 1}, zeros[] = {0, 0};
  const double *as[products], *bs[products];
  double* cs[products];
  for (size_t i = 0; i < products; ++i) {
    as[i] = a + i * m * k;
    bs[i] = b + i * k * n;
    cs[i] = c + i * m * n;
  }
  fortran("N", "N", ms, ns, ks, ones, as, ms, bs, ks, zeros, cs, ms, &one_group, &all, 1, 1);
  verdict("one group, Fortran", all_hold(0, 0));
  cblas(column_major, options, options, ms, ns, ks, ones, as, ms, bs, ks, zeros, cs, ms, groups, sizes);
  verdict("two small groups, C", all_hold(0, 0));
  double* const last = cs[products - 1];
  cs[products - 1] = cs[3];  // the results follow each other in another order
  cs[3] = last;
  cblas(column_major, options, options, ms, ns, ks, ones, as, ms, bs, ks, zeros, cs, ms, 1, &all);
  int right = 1;
  for (size_t i = 0; i < products; ++i) right &= holds(as[i], bs[i], cs[i], 0, 0);
  verdict("scattered, C", right);
}

int main(int argc, char** argv) {
  library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (!library) return 99;
  a = filled((size_t)m * k * products, 1);
  b = filled((size_t)k * n * products, 2);
  c = filled((size_t)m * n * products, 3);
  for (int round = 0; round < rounds; ++round) {
    strided();
    grouped();
    a[round] += 1;
  }
  return scenario_status();
}
