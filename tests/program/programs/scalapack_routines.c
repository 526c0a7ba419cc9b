/* Calls ScaLAPACK's pdgemm, pdtrsm, pdpotrf, pdgetrf, pdsyevd and pzhegvx on a grid of P x P ranks, and checks every
 * result against its definition. usage: scalapack_routines [N 160] [BLOCK 40]. Prints a line for each routine, on
 * rank 0. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bench/programs/scalapack.h"

typedef double complex z;

static const int one = 1, origin = 0;
static int n = 160, block = 40, grid, side, row, column, rows, columns, descriptor[9];
static int failures;

/* Element (i, j) of a matrix, the same on every rank. */
static double noise(int seed, int i, int j) {
  unsigned long long state =
      (unsigned long long)seed * 1000003u + (unsigned long long)i * 10007u + (unsigned long long)j + 1;
  state *= 0x9E3779B97F4A7C15ull;
  state ^= state >> 29;
  state *= 0xBF58476D1CE4E5B9ull;
  return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}
static double general(int i, int j) {
  return noise(1, i, j);
}
static double other(int i, int j) {
  return noise(2, i, j);
}
static double symmetric(int i, int j) {
  return noise(3, i < j ? i : j, i < j ? j : i);
}
static double definite(int i, int j) {
  return symmetric(i, j) + (i == j ? n : 0);
}
static double triangular(int i, int j) {
  return i == j ? 4 : i > j ? noise(4, i, j) / n : 0;
}
static z hermitian(int i, int j) {
  return symmetric(i, j) + (i == j ? 0 : i < j ? 1 : -1) * I * noise(5, i < j ? i : j, i < j ? j : i);
}
static z metric(int i, int j) {
  return (i == j ? n : 0) + hermitian(i, j);
}

static int global(int local, int process) {
  return (local / block * side + process) * block + local % block;
}

static double* distribute(double (*element)(int, int)) {
  double* part = malloc(sizeof(double) * (size_t)rows * (size_t)columns);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) part[i + (size_t)j * (size_t)rows] = element(global(i, row), global(j, column));
  return part;
}

static z* distribute_complex(z (*element)(int, int)) {
  z* part = malloc(sizeof(z) * (size_t)rows * (size_t)columns);
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) part[i + (size_t)j * (size_t)rows] = element(global(i, row), global(j, column));
  return part;
}

/* The whole matrix, on every rank, of `reals` (1 or 2) numbers an element. */
static double* collect(const double* part, int reals) {
  const size_t size = (size_t)n * (size_t)n * (size_t)reals;
  double* whole = calloc(size, sizeof(double));
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i)
      for (int r = 0; r < reals; ++r)
        whole[((size_t)global(i, row) + (size_t)global(j, column) * (size_t)n) * (size_t)reals + (size_t)r] =
            part[((size_t)i + (size_t)j * (size_t)rows) * (size_t)reals + (size_t)r];
  MPI_Allreduce(MPI_IN_PLACE, whole, (int)size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return whole;
}

/* Prints whether a routine's largest residual over all ranks is within the bound. */
static void judge(const char* name, double worst, double bound) {
  MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const int right = worst <= bound; /* false for a NaN */
  failures += !right;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%s: %s\n", name, right ? "right" : "WRONG");
}

/* The largest |sum_k left(i,k) right[k,j] - expected(i,j)| over this rank's share of the columns. */
static double residual(double (*left)(int, int), const double* right, double (*expected)(int, int)) {
  double worst = 0;
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int j = rank; j < n; j += ranks)
    for (int i = 0; i < n; ++i) {
      double sum = -expected(i, j);
      for (int k = 0; k < n; ++k) sum += left(i, k) * right[k + (size_t)j * (size_t)n];
      worst = fabs(sum) > worst || isnan(sum) ? fabs(sum) : worst;
    }
  return worst;
}

static void check_gemm(void) {
  const double alpha = 1, beta = 0;
  double *a = distribute(general), *b = distribute(other), *c = distribute(general);
  pdgemm_("N", "N", &n, &n, &n, &alpha, a, &one, &one, descriptor, b, &one, &one, descriptor, &beta, c, &one, &one,
          descriptor);
  double *whole = collect(c, 1), worst = 0;
  for (int j = column; j < n; j += side)
    for (int i = row; i < n; i += side) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += general(i, k) * other(k, j);
      worst = fmax(worst, fabs(sum - whole[i + (size_t)j * (size_t)n]));
    }
  judge("pdgemm", worst, 1e-12 * n);
  free(a), free(b), free(c), free(whole);
}

static void check_trsm(void) {
  const double alpha = 1;
  double *a = distribute(triangular), *x = distribute(general);
  pdtrsm_("L", "L", "N", "N", &n, &n, &alpha, a, &one, &one, descriptor, x, &one, &one, descriptor);
  double* whole = collect(x, 1);
  judge("pdtrsm", residual(triangular, whole, general), 1e-12 * n);
  free(a), free(x), free(whole);
}

static void check_potrf(void) {
  int info = 1;
  double *a = distribute(definite), worst = 0;
  pdpotrf_("L", &n, a, &one, &one, descriptor, &info);
  double* factor = collect(a, 1);
  for (int j = column; j < n; j += side)
    for (int i = j; i < n; ++i) {
      double sum = -definite(i, j);
      for (int k = 0; k <= j; ++k) sum += factor[i + (size_t)k * (size_t)n] * factor[j + (size_t)k * (size_t)n];
      worst = fmax(worst, fabs(sum));
    }
  judge("pdpotrf", info == 0 ? worst : 1, 1e-12 * n);
  free(a), free(factor);
}

static void check_getrf(void) {
  int info = 1, solved = 1;
  int* pivots = malloc(sizeof(int) * (size_t)(rows + block));
  double *a = distribute(general), *x = distribute(other);
  pdgetrf_(&n, &n, a, &one, &one, descriptor, pivots, &info);
  pdgetrs_("N", &n, &n, a, &one, &one, descriptor, pivots, x, &one, &one, descriptor, &solved);
  double* whole = collect(x, 1);
  judge("pdgetrf", info == 0 && solved == 0 ? residual(general, whole, other) : 1, 1e-9 * n);
  free(pivots), free(a), free(x), free(whole);
}

static void check_syevd(void) {
  int info = 1, query = -1, integers = 0;
  double size = 0, worst = 0;
  double *a = distribute(symmetric), *v = distribute(general), *values = malloc(sizeof(double) * (size_t)n);
  pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, v, &one, &one, descriptor, &size, &query, &integers, &query,
           &info);
  const int reals = (int)size + n * n; /* its query asks for too little */
  double* work = malloc(sizeof(double) * (size_t)reals);
  int* indices = malloc(sizeof(int) * (size_t)integers);
  pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, v, &one, &one, descriptor, work, &reals, indices, &integers,
           &info);
  double* vectors = collect(v, 1);
  for (int j = column; j < n; j += side)
    for (int i = row; i < n; i += side) {
      double sum = -values[j] * vectors[i + (size_t)j * (size_t)n];
      for (int k = 0; k < n; ++k) sum += symmetric(i, k) * vectors[k + (size_t)j * (size_t)n];
      worst = fmax(worst, fabs(sum));
    }
  judge("pdsyevd", info == 0 ? worst : 1, 1e-11 * n);
  free(a), free(v), free(values), free(work), free(indices), free(vectors);
}

static void check_hegvx(void) {
  const double tolerance = 0, orthogonality = 1e-3, from = 0, to = 0;
  const int least = 1, most = n, query = -1;
  int found = 0, computed = 0, info = 1, integers = 0;
  z size[3];
  double real_size[3], worst = 0;
  z *a = distribute_complex(hermitian), *b = distribute_complex(metric), *v = distribute_complex(hermitian);
  double *values = malloc(sizeof(double) * (size_t)n), *gaps = malloc(sizeof(double) * (size_t)(side * side));
  int *failed = malloc(sizeof(int) * (size_t)n), *clusters = malloc(sizeof(int) * (size_t)(2 * side * side));
  pzhegvx_(&one, "V", "A", "L", &n, a, &one, &one, descriptor, b, &one, &one, descriptor, &from, &to, &least, &most,
           &tolerance, &found, &computed, values, &orthogonality, v, &one, &one, descriptor, size, &query, real_size,
           &query, &integers, &query, failed, clusters, gaps, &info);
  const int length = (int)creal(size[0]) + n, reals = (int)real_size[0] + n * n;
  z* work = malloc(sizeof(z) * (size_t)length);
  double* real_work = malloc(sizeof(double) * (size_t)reals);
  int* indices = malloc(sizeof(int) * (size_t)integers);
  pzhegvx_(&one, "V", "A", "L", &n, a, &one, &one, descriptor, b, &one, &one, descriptor, &from, &to, &least, &most,
           &tolerance, &found, &computed, values, &orthogonality, v, &one, &one, descriptor, work, &length, real_work,
           &reals, indices, &integers, failed, clusters, gaps, &info);
  z* vectors = (z*)collect((double*)v, 2);
  for (int j = column; j < n; j += side)
    for (int i = row; i < n; i += side) {
      z sum = 0;
      for (int k = 0; k < n; ++k)
        sum += (hermitian(i, k) - values[j] * metric(i, k)) * vectors[k + (size_t)j * (size_t)n];
      worst = fmax(worst, cabs(sum));
    }
  judge("pzhegvx", info == 0 && computed == n ? worst : 1, 1e-10 * n);
  free(a), free(b), free(v), free(values), free(gaps), free(failed), free(clusters), free(work), free(real_work),
      free(indices);
  free(vectors);
}

int main(int count, char** arguments) {
  int ranks, info;
  if (count > 1) n = atoi(arguments[1]);
  if (count > 2) block = atoi(arguments[2]);
  MPI_Init(&count, &arguments);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  side = (int)sqrt((double)ranks);
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "R", side, side);
  Cblacs_gridinfo(grid, &side, &side, &row, &column);
  rows = numroc_(&n, &block, &row, &origin, &side);
  columns = numroc_(&n, &block, &column, &origin, &side);
  descinit_(descriptor, &n, &n, &block, &block, &origin, &origin, &grid, &rows, &info);
  check_gemm();
  check_trsm();
  check_potrf();
  check_getrf();
  check_syevd();
  check_hegvx();
  Cblacs_gridexit(grid);
  MPI_Finalize();
  return failures != 0;
}
