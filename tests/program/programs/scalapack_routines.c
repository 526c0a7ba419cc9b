/* Calls routines of ScaLAPACK on a grid of ROWS x COLUMNS ranks, and checks every result against its definition.
 * usage: scalapack_routines N BLOCK ROWS COLUMNS UPLO [all|broken|short]. Prints a line for each call, on rank 0.
 * pdsyevd, pzheevd and pzhegvx have matrices whose unused triangle is NaN.
 *   all    pdgemm, pdtrsm, pdpotrf and pdgetrf come before, and pzhegvx has all values and vectors
 *   broken the generalized problem's metric is not definite, which the routine must report
 *   short  pdsyevd alone, with too little work space on the last rank */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "distributed_matrix.h"

typedef double complex z;

static int failures, broken, too_short;
static const char* uplo;

static z general(int i, int j) {
  return noise(1, i, j);
}
static z other(int i, int j) {
  return noise(2, i, j);
}
static z symmetric(int i, int j) {
  return noise(3, i < j ? i : j, i < j ? j : i);
}
static z hermitian(int i, int j) {
  return symmetric(i, j) + (i == j ? 0 : i < j ? 1 : -1) * I * noise(5, i < j ? i : j, i < j ? j : i);
}
static z metric(int i, int j) {
  return (i == j ? broken && i == n - 7 ? -n : n : 0) + hermitian(i, j);
}
static z identity(int i, int j) {
  return i == j;
}
static z triangular(int i, int j) {
  return i == j ? 4 : i > j ? noise(4, i, j) / n : 0;
}
static z definite(int i, int j) {
  return symmetric(i, j) + (i == j ? n : 0);
}

/* This rank's part of a matrix, with `reals` (1 or 2) numbers per element. Elements outside the triangle are NaN; all
 * count if it is 'A'. */
static double* distribute_part(z (*element)(int, int), int reals, char triangle) {
  double* part = malloc(sizeof(double) * (size_t)(held[0] * held[1] * reals + 1));
  double* next = part;
  for (int j = 0; j < held[1]; ++j)
    for (int i = 0; i < held[0]; ++i) {
      const int row = global(i, 0), column = global(j, 1);
      const int used = triangle == 'A' || (triangle == 'L' ? row >= column : row <= column);
      const z value = used ? element(row, column) : NAN + I * NAN;
      *next++ = creal(value);
      if (reals == 2) *next++ = cimag(value);
    }
  return part;
}
static double* distribute(z (*element)(int, int), int reals) {
  return distribute_part(element, reals, *uplo);
}
static double* distribute_all(z (*element)(int, int)) {
  return distribute_part(element, 1, 'A');
}

static z* collect_complex(const double* part, int reals) {
  double* whole = collect(part, reals);
  if (reals == 2) return (z*)whole;
  z* numbers = malloc(sizeof(z) * (size_t)(n * n));
  for (int i = 0; i < n * n; ++i) numbers[i] = whole[i];
  free(whole);
  return numbers;
}

static void judge(const char* name, int right) {
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  failures += !right;
  if (rank == 0) printf("%s: %s\n", name, right ? "right" : "WRONG");
}

/* Whether left x = w right x for each vector, and whether the vectors are orthonormal with respect to right, by a
 * sample of their products. */
static int solves(z (*left)(int, int), z (*right)(int, int), const double* values, const z* vectors, int found) {
  const double bound = 1e-10 * n;
  for (int j = rank; j < found; j += ranks) {
    const z *x = vectors + (size_t)j * (size_t)n, *neighbour = vectors + (size_t)(j / 2) * (size_t)n;
    z norm = 0, product = 0;
    if (j > 0 && !(values[j] >= values[j - 1])) return 0;
    for (int i = 0; i < n; ++i) {
      z sum = 0, scaled = 0;
      for (int k = 0; k < n; ++k) sum += left(i, k) * x[k], scaled += right(i, k) * x[k];
      norm += conj(x[i]) * scaled, product += conj(neighbour[i]) * scaled;
      if (!(cabs(sum - values[j] * scaled) <= bound)) return 0;
    }
    if (!(cabs(norm - 1) <= bound) || (j / 2 != j && !(cabs(product) <= bound))) return 0;
  }
  return 1;
}

static int same_everywhere(const double* numbers, int count) {
  double* first = malloc(sizeof(double) * (size_t)count);
  memcpy(first, numbers, sizeof(double) * (size_t)count);
  /* Uses MPI_BYTE, to test a variable of Open MPI that the program refers to: the copy in the program is the one in
   * use. */
  MPI_Bcast(first, count * (int)sizeof(double), MPI_BYTE, 0, MPI_COMM_WORLD);
  const int same = memcmp(first, numbers, sizeof(double) * (size_t)count) == 0;
  free(first);
  return same;
}

static void check_syevd(void) {
  int info = 1, integers = 0;
  double size = 0, *a = distribute(symmetric, 1), *v = distribute(symmetric, 1), *values = calloc((size_t)n, 8);
  pdsyevd_("V", uplo, &n, a, &one, &one, descriptor, values, v, &one, &one, descriptor, &size, &query, &integers,
           &query, &info);
  int reals = (int)size + n * n; /* its query asks for too little */
  double* work = malloc(sizeof(double) * (size_t)reals);
  int* indices = malloc(sizeof(int) * (size_t)integers);
  info = 1;
  if (too_short && rank == ranks - 1) reals = 17; /* on one rank alone */
  pdsyevd_("V", uplo, &n, a, &one, &one, descriptor, values, v, &one, &one, descriptor, work, &reals, indices,
           &integers, &info);
  if (too_short) return judge("pdsyevd with too little work space", info == -14);
  z* vectors = collect_complex(v, 1);
  judge("pdsyevd", info == 0 && same_everywhere(values, n) && solves(symmetric, identity, values, vectors, n));
  free(a), free(v), free(values), free(work), free(indices), free(vectors);
}

static void check_heevd(void) {
  int info = 1, integers = 0;
  z size[2];
  double real_size[2], *a = distribute(hermitian, 2), *v = distribute(hermitian, 2), *values = calloc((size_t)n, 8);
  pzheevd_("V", uplo, &n, (z*)a, &one, &one, descriptor, values, (z*)v, &one, &one, descriptor, size, &query, real_size,
           &query, &integers, &query, &info);
  const int length = (int)creal(size[0]) + n * n, reals = (int)real_size[0] + n * n;
  z* work = malloc(sizeof(z) * (size_t)length);
  double* real_work = malloc(sizeof(double) * (size_t)reals);
  int* indices = malloc(sizeof(int) * (size_t)integers);
  info = 1;
  pzheevd_("V", uplo, &n, (z*)a, &one, &one, descriptor, values, (z*)v, &one, &one, descriptor, work, &length,
           real_work, &reals, indices, &integers, &info);
  z* vectors = collect_complex(v, 2);
  judge("pzheevd", info == 0 && same_everywhere(values, n) && solves(hermitian, identity, values, vectors, n));
  free(a), free(v), free(values), free(work), free(real_work), free(indices), free(vectors);
}

/* Whether the triangle holds the Cholesky factor of the matrix, by every `step`-th of its rows. */
static int factors(const double* part, int reals, z (*matrix)(int, int), int step) {
  z* factor = collect_complex(part, reals);
  int right = 1;
  for (int i = rank; i < n; i += step * ranks)
    for (int j = 0; j <= i; ++j) {
      z sum = -(*uplo == 'L' ? matrix(i, j) : matrix(j, i));
      for (int k = 0; k <= j; ++k)
        sum += *uplo == 'L' ? factor[i + (size_t)k * (size_t)n] * conj(factor[j + (size_t)k * (size_t)n])
                            : conj(factor[k + (size_t)j * (size_t)n]) * factor[k + (size_t)i * (size_t)n];
      right = right && cabs(sum) <= 1e-11 * n;
    }
  free(factor);
  return right;
}

static void check_hegvx(const char* job, const char* range) {
  static double all[100000]; /* eigenvalues of range A */
  const double tolerance = 0, orthogonality = 1e-3, from = -0.03, to = 0.02;
  const int least = 3, most = n - 5;
  int found = 0, computed = 0, info = 1, integers = 0;
  z size[3];
  double real_size[3], *a = distribute(hermitian, 2), *b = distribute(metric, 2), *v = distribute(hermitian, 2);
  double *values = calloc((size_t)n, 8), *gaps = malloc(sizeof(double) * (size_t)ranks);
  int *failed = malloc(sizeof(int) * (size_t)n), *clusters = malloc(sizeof(int) * (size_t)(2 * ranks));
  memset(failed, 1, sizeof(int) * (size_t)n), memset(clusters, 1, sizeof(int) * (size_t)(2 * ranks));
  pzhegvx_(&one, job, range, uplo, &n, (z*)a, &one, &one, descriptor, (z*)b, &one, &one, descriptor, &from, &to, &least,
           &most, &tolerance, &found, &computed, values, &orthogonality, (z*)v, &one, &one, descriptor, size, &query,
           real_size, &query, &integers, &query, failed, clusters, gaps, &info);
  const int length = (int)creal(size[0]) + n, reals = (int)real_size[0] + n * n;
  z* work = malloc(sizeof(z) * (size_t)length);
  double* real_work = malloc(sizeof(double) * (size_t)reals);
  int* indices = malloc(sizeof(int) * (size_t)integers);
  info = 1;
  pzhegvx_(&one, job, range, uplo, &n, (z*)a, &one, &one, descriptor, (z*)b, &one, &one, descriptor, &from, &to, &least,
           &most, &tolerance, &found, &computed, values, &orthogonality, (z*)v, &one, &one, descriptor, work, &length,
           real_work, &reals, indices, &integers, failed, clusters, gaps, &info);
  char name[64];
  snprintf(name, sizeof name, "pzhegvx %s %s", job, range);
  if (broken) {
    judge(name, info == 16 && failed[0] == n - 6);
  } else {
    if (*job == 'V' && *range == 'A') memcpy(all, values, sizeof(double) * (size_t)n);
    int first = 0, expected = n, right = info == 0;
    if (*range == 'I') first = least - 1, expected = most - least + 1;
    if (*range == 'V') {
      for (first = 0; all[first] <= from; ++first)
        ;
      for (expected = 0; first + expected < n && all[first + expected] <= to; ++expected)
        ;
    }
    right = right && found == expected && same_everywhere(values, found) && factors(b, 2, metric, 7);
    for (int i = 0; i < found && right; ++i) right = fabs(values[i] - all[first + i]) <= 1e-11 * n;
    if (*job == 'V') {
      z* vectors = collect_complex(v, 2);
      right = right && computed == found && solves(hermitian, metric, values, vectors, found) && clusters[0] == 0;
      for (int i = 0; i < found; ++i) right = right && failed[i] == 0;
      free(vectors);
    }
    judge(name, right);
  }
  free(a), free(b), free(v), free(values), free(gaps), free(failed), free(clusters), free(work), free(real_work);
  free(indices);
}

/* Whether left right is the expected matrix, by this rank's share of the columns. */
static int products_agree(z (*left)(int, int), const double* right, z (*expected)(int, int), double bound) {
  for (int j = rank; j < n; j += ranks)
    for (int i = 0; i < n; ++i) {
      double sum = -creal(expected(i, j));
      for (int k = 0; k < n; ++k) sum += creal(left(i, k)) * right[k + j * n];
      if (!(fabs(sum) <= bound)) return 0; /* also for NaN */
    }
  return 1;
}

static void check_gemm(void) {
  const double alpha = 1, beta = 0;
  double *a = distribute_all(general), *b = distribute_all(other), *c = distribute_all(general);
  pdgemm_("N", "N", &n, &n, &n, &alpha, a, &one, &one, descriptor, b, &one, &one, descriptor, &beta, c, &one, &one,
          descriptor);
  double* whole = collect(c, 1);
  int right = 1;
  for (int j = rank; j < n; j += ranks)
    for (int i = 0; i < n; ++i) {
      double sum = -whole[i + j * n];
      for (int k = 0; k < n; ++k) sum += creal(general(i, k)) * creal(other(k, j));
      right = right && fabs(sum) <= 1e-12 * n;
    }
  judge("pdgemm", right);
  free(a), free(b), free(c), free(whole);
}

static void check_trsm(void) {
  const double alpha = 1;
  double *a = distribute_all(triangular), *x = distribute_all(general);
  pdtrsm_("L", "L", "N", "N", &n, &n, &alpha, a, &one, &one, descriptor, x, &one, &one, descriptor);
  double* whole = collect(x, 1);
  judge("pdtrsm", products_agree(triangular, whole, general, 1e-12 * n));
  free(a), free(x), free(whole);
}

static void check_potrf(void) {
  int info = 1;
  double* a = distribute(definite, 1);
  pdpotrf_(uplo, &n, a, &one, &one, descriptor, &info);
  judge("pdpotrf", factors(a, 1, definite, 1) && info == 0);
  free(a);
}

static void check_getrf(void) {
  int info = 1, solved = 1;
  int* pivots = malloc(sizeof(int) * (size_t)(held[0] + block));
  double *a = distribute_all(general), *x = distribute_all(other);
  pdgetrf_(&n, &n, a, &one, &one, descriptor, pivots, &info);
  pdgetrs_("N", &n, &n, a, &one, &one, descriptor, pivots, x, &one, &one, descriptor, &solved);
  double* whole = collect(x, 1);
  judge("pdgetrf", info == 0 && solved == 0 && products_agree(general, whole, other, 1e-9 * n));
  free(pivots), free(a), free(x), free(whole);
}

int main(int count, char** arguments) {
  if (count < 6) return 2;
  const char* what = count > 6 ? arguments[6] : "";
  const int all = strcmp(what, "all") == 0;
  uplo = arguments[5];
  broken = strcmp(what, "broken") == 0;
  too_short = strcmp(what, "short") == 0;
  begin(arguments[1], arguments[2], arguments[3], arguments[4]);
  if (all) check_gemm(), check_trsm(), check_potrf(), check_getrf();
  check_syevd();
  if (!too_short) {
    check_heevd();
    check_hegvx("V", "A");
    if (!all) check_hegvx("V", "I"), check_hegvx("V", "V"), check_hegvx("N", "A");
  }
  end();
  return failures != 0;
}
