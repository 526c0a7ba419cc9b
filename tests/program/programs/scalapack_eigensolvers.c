/* Calls ScaLAPACK's pdsyevd, pzheevd and pzhegvx on a grid of ROWS x COLUMNS ranks, with matrices whose unused triangle
 * is NaN, and checks every result against its definition. usage: scalapack_eigensolvers N BLOCK ROWS COLUMNS UPLO
 * [ROUNDS 1] [broken]. Prints a line for each call, on rank 0. broken: the generalized problem's metric is not
 * definite, which the routine must report. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bench/programs/scalapack.h"

typedef double complex z;

static const int one = 1, origin = 0, query = -1;
static int n, block, grid, sides[2], place[2], held[2], descriptor[9];
static int rank, ranks, failures, broken, too_short;
static const char* uplo;

/* Element (i, j) of a matrix, the same on every rank. */
static double noise(int seed, int i, int j) {
  unsigned long long state = (unsigned long long)(((seed * 10007 + i) * 10007) + j + 1) * 0x9E3779B97F4A7C15ull;
  state ^= state >> 29;
  state *= 0xBF58476D1CE4E5B9ull;
  return (double)(state >> 11) / 9007199254740992.0 - 0.5;
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

static int global(int local, int axis) {
  return (local / block * sides[axis] + place[axis]) * block + local % block;
}

/* This rank's part of a matrix, with `reals` (1 or 2) numbers per element. Elements outside the triangle are NaN. */
static double* distribute(z (*element)(int, int), int reals) {
  double* part = malloc(sizeof(double) * (size_t)(held[0] * held[1] * reals + 1));
  double* next = part;
  for (int j = 0; j < held[1]; ++j)
    for (int i = 0; i < held[0]; ++i) {
      const int row = global(i, 0), column = global(j, 1);
      const z value = (*uplo == 'L' ? row >= column : row <= column) ? element(row, column) : NAN + I * NAN;
      *next++ = creal(value);
      if (reals == 2) *next++ = cimag(value);
    }
  return part;
}

/* The whole matrix, on every rank. */
static z* collect(const double* part, int reals) {
  z* whole = calloc((size_t)n * (size_t)n, sizeof(z));
  for (int j = 0; j < held[1]; ++j)
    for (int i = 0; i < held[0]; ++i) {
      const double* element = part + (size_t)(i + j * held[0]) * (size_t)reals;
      whole[global(i, 0) + (size_t)global(j, 1) * (size_t)n] = element[0] + (reals == 2 ? I * element[1] : 0);
    }
  MPI_Allreduce(MPI_IN_PLACE, whole, 2 * n * n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return whole;
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
  z* vectors = collect(v, 1);
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
  z* vectors = collect(v, 2);
  judge("pzheevd", info == 0 && same_everywhere(values, n) && solves(hermitian, identity, values, vectors, n));
  free(a), free(v), free(values), free(work), free(real_work), free(indices), free(vectors);
}

/* Whether the triangle holds the Cholesky factor of the metric, by some of its rows. */
static int factors(const double* part) {
  z* factor = collect(part, 2);
  int right = 1;
  for (int i = rank; i < n; i += 7 * ranks)
    for (int j = 0; j <= i; ++j) {
      z sum = -(*uplo == 'L' ? metric(i, j) : metric(j, i));
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
    right = right && found == expected && same_everywhere(values, found) && factors(b);
    for (int i = 0; i < found && right; ++i) right = fabs(values[i] - all[first + i]) <= 1e-11 * n;
    if (*job == 'V') {
      z* vectors = collect(v, 2);
      right = right && computed == found && solves(hermitian, metric, values, vectors, found) && clusters[0] == 0;
      for (int i = 0; i < found; ++i) right = right && failed[i] == 0;
      free(vectors);
    }
    judge(name, right);
  }
  free(a), free(b), free(v), free(values), free(gaps), free(failed), free(clusters), free(work), free(real_work);
  free(indices);
}

int main(int count, char** arguments) {
  int info;
  if (count < 6) return 2;
  n = atoi(arguments[1]), block = atoi(arguments[2]), sides[0] = atoi(arguments[3]), sides[1] = atoi(arguments[4]);
  uplo = arguments[5];
  broken = count > 6 && strcmp(arguments[6], "broken") == 0;
  too_short = count > 6 && strcmp(arguments[6], "short") == 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "R", sides[0], sides[1]);
  Cblacs_gridinfo(grid, &sides[0], &sides[1], &place[0], &place[1]);
  for (int axis = 0; axis < 2; ++axis) held[axis] = numroc_(&n, &block, &place[axis], &origin, &sides[axis]);
  const int leading = held[0] > 0 ? held[0] : 1;
  descinit_(descriptor, &n, &n, &block, &block, &origin, &origin, &grid, &leading, &info);
  check_syevd();
  if (!too_short) {
    check_heevd();
    check_hegvx("V", "A");
    check_hegvx("V", "I");
    check_hegvx("V", "V");
    check_hegvx("N", "A");
  }
  Cblacs_gridexit(grid);
  MPI_Finalize();
  return failures != 0;
}
