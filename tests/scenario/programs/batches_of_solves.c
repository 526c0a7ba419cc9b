// Solves in batches, by each of the four functions. Argument: the library that has them.
#include <dlfcn.h>
#include <string.h>

#include "scenario.h"

enum { row_major = 101, column_major = 102, plain = 111, transposed = 112, upper = 121, lower = 122, non_unit = 131 };
enum { left = 141, m = 40, n = 30, solves = 50, rounds = 3 };

static void* library;
static double *a, *b, *x;

/// Checks one solution of L X = B, or of L^T X = B, and puts B back. `by_rows`: all matrices are stored by rows.
static int holds(const double* triangle, const double* right, double* solution, int by_rows, int across) {
  int right_everywhere = 1;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0, size = 0;
      for (int l = across ? i : 0; l < (across ? m : i + 1); ++l) {
        const int row = across ? l : i, column = across ? i : l;
        const double term = triangle[by_rows ? column + row * m : row + column * m] *
                            solution[by_rows ? j + (size_t)l * n : l + (size_t)j * m];
        sum += term;
        size += fabs(term);
      }
      const double wanted = right[by_rows ? j + (size_t)i * n : i + (size_t)j * m];
      if (!(fabs(wanted - sum) <= 1e-13 * m * (size + 1e-300))) right_everywhere = 0;
    }
  memcpy(solution, right, sizeof(double) * m * n);
  return right_everywhere;
}

static int all_hold(int by_rows, int across) {
  int right = 1;
  for (size_t i = 0; i < solves; ++i) right &= holds(a + i * m * m, b + i * m * n, x + i * m * n, by_rows, across);
  return right;
}

static void strided(void) {
  void (*const fortran)(const char*, const char*, const char*, const char*, const int*, const int*, const double*,
                        const double*, const int*, const int*, double*, const int*, const int*, const int*, size_t,
                        size_t, size_t, size_t) = dlsym(library, "dtrsm_batch_strided_");
  void (*const cblas)(int, int, int, int, int, int, int, double, const double*, int, int, double*, int, int, int) =
      dlsym(library, "cblas_dtrsm_batch_strided");
  const int sizes[] = {m, n, m * m, m * n, solves};
  const double one = 1;
  fortran("L", "L", "T", "N", &sizes[0], &sizes[1], &one, a, &sizes[0], &sizes[2], x, &sizes[0], &sizes[3], &sizes[4],
          1, 1, 1, 1);
  verdict("strided, Fortran", all_hold(0, 1));
  cblas(row_major, left, lower, plain, non_unit, m, n, 1, a, m, m * m, x, n, m * n, solves);
  verdict("strided, C by rows", all_hold(1, 0));
}

static void grouped(void) {
  void (*const fortran)(const char*, const char*, const char*, const char*, const int*, const int*, const double*,
                        const double**, const int*, double**, const int*, const int*, const int*, size_t, size_t,
                        size_t, size_t) = dlsym(library, "dtrsm_batch_");
  void (*const cblas)(int, const int*, const int*, const int*, const int*, const int*, const int*, const double*,
                      const double**, const int*, double**, const int*, int, const int*) =
      dlsym(library, "cblas_dtrsm_batch");
  const int ms[] = {m, m}, ns[] = {n, n}, sizes[] = {solves - 10, 10}, one_group = 1, all = solves;
  const int lefts[] = {left, left}, lowers[] = {lower, lower}, plains[] = {plain, plain}, non_units[] = {131, 131};
  const double ones[] = {1, 1};
  const double* as[solves];
  double* xs[solves];
  for (size_t i = 0; i < solves; ++i) {
    as[i] = a + i * m * m;
    xs[i] = x + i * m * n;
  }
  fortran("L", "L", "N", "N", ms, ns, ones, as, ms, xs, ms, &one_group, &all, 1, 1, 1, 1);
  verdict("one group, Fortran", all_hold(0, 0));
  cblas(column_major, lefts, lowers, plains, non_units, ms, ns, ones, as, ms, xs, ms, 2, sizes);
  verdict("two small groups, C", all_hold(0, 0));
}

int main(int argc, char** argv) {
  library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (!library) return 99;
  a = filled((size_t)m * m * solves, 1);
  b = filled((size_t)m * n * solves, 2);
  x = filled((size_t)m * n * solves, 2);
  memcpy(x, b, sizeof(double) * m * n * solves);
  for (size_t i = 0; i < solves; ++i)
    for (size_t j = 0; j < m; ++j) a[i * m * m + j * (m + 1)] = m;
  for (int round = 0; round < rounds; ++round) {
    strided();
    grouped();
    a[round * (m + 1)] += 1;
  }
  return scenario_status();
}
