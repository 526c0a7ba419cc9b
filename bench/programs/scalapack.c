// One ScaLAPACK routine on a P x P grid of ranks: the seconds of each repetition, a number that depends on all of the
// result, and the error of the result in a product with a vector (only real routines other than pdtrsm and
// generalized), as JSON on rank 0. usage: scalapack ROUTINE N BLOCK REPEATS, ROUTINE: pdgemm, pdtrsm, pdpotrf, pdgetrf,
// pdsyevd, pzheevd or pzhegvx (all eigenvalues and vectors), or generalized: A x = w B x by pdpotrf, pdsygst, pdsyevd
// and pdtrsm. Matrices are made anew before each repetition.
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scalapack.h"

typedef double complex z;

static const int one = 1, origin = 0, query = -1;
static const double unit = 1, zero = 0;
static int n, block, side, row, column, rows, columns, descriptor[9];
static int reals = 1;      // real numbers in an element: 1, or 2 for complex routines
static double *a, *b, *c;  // the operands and the result c
static double *values, *work, *real_work, *gaps;
static int *integers, *failed, *clusters, work_size, real_size, integer_size;

static int is(const char* routine, const char* name) {
  return strcmp(routine, name) == 0;
}

// A pseudo-random number between -0.5 and 0.5, the same on every rank.
static double noise(unsigned seed, unsigned i, unsigned j) {
  unsigned long long state = (((unsigned long long)seed << 60) ^ ((unsigned long long)i << 30) ^ j) + 1;
  state *= 0x9E3779B97F4A7C15ull, state ^= state >> 29;
  state *= 0xBF58476D1CE4E5B9ull, state ^= state >> 32;
  return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

static int global_row(int i) {
  return (i / block * side + row) * block + i % block;
}

// Fills this rank's part of a symmetric or Hermitian matrix; adds `diagonal` to the diagonal.
static void fill(double* part, unsigned seed, double diagonal) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      const unsigned here = (unsigned)global_row(i);
      const unsigned there = (unsigned)((j / block * side + column) * block + j % block);
      const unsigned low = here < there ? here : there, high = here < there ? there : here;
      double* element = part + ((size_t)i + (size_t)j * (size_t)rows) * (size_t)reals;
      element[0] = noise(seed, low, high) + (here == there ? diagonal : 0);
      if (reals == 2) element[1] = here == there ? 0 : noise(seed + 1, low, high) * (here < there ? 1 : -1);
    }
}

static double* new_part(void) {
  return malloc(sizeof(double) * ((size_t)rows * (size_t)columns * (size_t)reals + 1));
}

// Solves A x = w B x by pzhegvx for all eigenvalues and vectors. Vectors are orthogonalized again if their eigenvalues
// differ by less than 1e-5 of the norm. With pzhegvx's own default, most eigenvalues of a random matrix would form one
// cluster, on which a single rank would work.
static int generalized(double* space, int* size, double* real_space, int* real_length, int* integer_space,
                       int* integer_length) {
  const double tolerance = 0, orthogonality = 1e-5, none = 0;
  int found, computed, info;
  pzhegvx_(&one, "V", "A", "L", &n, (z*)a, &one, &one, descriptor, (z*)b, &one, &one, descriptor, &none, &none, &one,
           &one, &tolerance, &found, &computed, values, &orthogonality, (z*)c, &one, &one, descriptor, (z*)space, size,
           real_space, real_length, integer_space, integer_length, failed, clusters, gaps, &info);
  return info;
}

// The same for real matrices, step by step.
static int by_steps(void) {
  int info = 0;
  double scale = 1;
  pdpotrf_("L", &n, b, &one, &one, descriptor, &info);
  if (info == 0) pdsygst_(&one, "L", &n, a, &one, &one, descriptor, b, &one, &one, descriptor, &scale, &info);
  if (info == 0)
    pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, c, &one, &one, descriptor, work, &work_size, integers,
             &integer_size, &info);
  if (info == 0) pdtrsm_("L", "L", "T", "N", &n, &n, &unit, b, &one, &one, descriptor, c, &one, &one, descriptor);
  return info;
}

// Returns ScaLAPACK's info.
static int compute(const char* routine) {
  int info = 0;
  if (is(routine, "pdgemm")) {
    pdgemm_("N", "N", &n, &n, &n, &unit, a, &one, &one, descriptor, b, &one, &one, descriptor, &zero, c, &one, &one,
            descriptor);
  } else if (is(routine, "pdtrsm")) {
    pdtrsm_("L", "L", "N", "N", &n, &n, &unit, a, &one, &one, descriptor, c, &one, &one, descriptor);
  } else if (is(routine, "pdpotrf")) {
    pdpotrf_("L", &n, c, &one, &one, descriptor, &info);
  } else if (is(routine, "pdgetrf")) {
    pdgetrf_(&n, &n, c, &one, &one, descriptor, integers, &info);
  } else if (is(routine, "pdsyevd")) {
    pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, c, &one, &one, descriptor, work, &work_size, integers,
             &integer_size, &info);
  } else if (is(routine, "generalized")) {
    info = by_steps();
  } else if (is(routine, "pzheevd")) {
    pzheevd_("V", "L", &n, (z*)a, &one, &one, descriptor, values, (z*)c, &one, &one, descriptor, (z*)work, &work_size,
             real_work, &real_size, integers, &integer_size, &info);
  } else {
    info = generalized(work, &work_size, real_work, &real_size, integers, &integer_size);
  }
  return info;
}

// Asks eigensolvers how much work space they need, and allocates more, since some ask for too little.
static void make_room(const char* routine, int ranks) {
  int info = 0, lengths[3] = {query, query, query}, integer = rows + block;
  double size[6] = {0}, real[3] = {0};
  values = malloc(sizeof(double) * (size_t)n);
  gaps = malloc(sizeof(double) * (size_t)ranks);
  failed = malloc(sizeof(int) * (size_t)n);
  clusters = malloc(sizeof(int) * (size_t)(2 * ranks));
  if (is(routine, "pdsyevd") || is(routine, "generalized"))
    pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, c, &one, &one, descriptor, size, &query, &integer, &query,
             &info);
  else if (is(routine, "pzheevd"))
    pzheevd_("V", "L", &n, (z*)a, &one, &one, descriptor, values, (z*)c, &one, &one, descriptor, (z*)size, &query, real,
             &query, &integer, &query, &info);
  else if (is(routine, "pzhegvx"))
    generalized(size, &lengths[0], real, &lengths[1], &integer, &lengths[2]);
  work_size = (int)size[0] + 2 * n * block;
  real_size = (int)real[0] + 2 * n * block;
  integer_size = integer;
  work = malloc(sizeof(double) * (size_t)work_size * (size_t)reals);
  real_work = malloc(sizeof(double) * (size_t)real_size);
  integers = malloc(sizeof(int) * (size_t)integer_size);
}

// A vector that is distributed as a column of the matrices.
static double* new_vector(int filled) {
  double* const vector = calloc((size_t)rows + 1, sizeof(double));
  for (int i = 0; filled && column == 0 && i < rows; ++i) vector[i] = noise(7, (unsigned)global_row(i), 0);
  return vector;
}

// Exchanges the elements of a vector as pdgetrf has exchanged rows, in the reverse order.
static void exchange_back(double* vector) {
  double* const whole = calloc(2 * (size_t)n, sizeof(double));  // the elements, then the pivots
  for (int i = 0; column == 0 && i < rows; ++i)
    whole[global_row(i)] = vector[i], whole[n + global_row(i)] = integers[i];
  MPI_Allreduce(MPI_IN_PLACE, whole, 2 * n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = n - 1; i >= 0; --i) {
    const int other = (int)whole[n + i] - 1;
    const double element = whole[i];
    whole[i] = whole[other], whole[other] = element;
  }
  for (int i = 0; column == 0 && i < rows; ++i) vector[i] = whole[global_row(i)];
  free(whole);
}

static void multiply(const char* transposed, const double* matrix, const double* x, double* y) {
  pdgemv_(transposed, &n, &n, &unit, matrix, &one, &one, descriptor, x, &one, &one, descriptor, &one, &zero, y, &one,
          &one, descriptor, &one);
}

static void multiply_triangle(const char* uplo, const char* transposed, const char* diagonal, double* x) {
  pdtrmv_(uplo, transposed, diagonal, &n, c, &one, &one, descriptor, x, &one, &one, descriptor, &one);
}

// The error of the last result in the product with a vector x, relative to the product that is
// right; negative: not known. Makes the operands anew.
static double error_of(const char* routine, double diagonal) {
  double *x = new_vector(1), *y = new_vector(0), *expected = new_vector(0);
  fill(a, 1, diagonal);
  if (is(routine, "pdgemm")) {  // C x = A (B x)
    multiply("N", c, x, y);
    multiply("N", b, x, expected);
    memcpy(x, expected, sizeof(double) * (size_t)rows);
    multiply("N", a, x, expected);
  } else if (is(routine, "pdpotrf")) {  // L (L^T x) = A x
    multiply("N", a, x, expected);
    memcpy(y, x, sizeof(double) * (size_t)rows);
    multiply_triangle("L", "T", "N", y);
    multiply_triangle("L", "N", "N", y);
  } else if (is(routine, "pdgetrf")) {  // P (L (U x)) = A x
    multiply("N", a, x, expected);
    memcpy(y, x, sizeof(double) * (size_t)rows);
    multiply_triangle("U", "N", "N", y);
    multiply_triangle("L", "N", "U", y);
    exchange_back(y);
  } else if (is(routine, "pdsyevd")) {  // Z (W (Z^T x)) = A x
    multiply("N", a, x, expected);
    multiply("T", c, x, y);
    for (int i = 0; column == 0 && i < rows; ++i) y[i] *= values[global_row(i)];
    memcpy(x, y, sizeof(double) * (size_t)rows);
    multiply("N", c, x, y);
  } else {
    return -1;
  }
  double squares[2] = {0, 0};
  for (int i = 0; column == 0 && i < rows; ++i) {
    squares[0] += (y[i] - expected[i]) * (y[i] - expected[i]);
    squares[1] += expected[i] * expected[i];
  }
  double all[2];
  MPI_Allreduce(squares, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(x), free(y), free(expected);
  return sqrt(all[0] / all[1]);
}

int main(int count, char** arguments) {
  int rank, ranks, grid, info;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 5) {
    if (rank == 0) fprintf(stderr, "usage: scalapack ROUTINE N BLOCK REPEATS\n");
    MPI_Finalize();
    return 2;
  }
  n = atoi(arguments[2]);
  block = atoi(arguments[3]);
  reals = strncmp(arguments[1], "pz", 2) == 0 ? 2 : 1;
  // Matrices of eigenproblems have eigenvalues on both sides of zero, and pdgetrf is to exchange rows. All others have
  // a dominant diagonal.
  const char* const routine = arguments[1];
  const int is_eigenproblem = strstr(routine, "evd") || strstr(routine, "gvx") || is(routine, "generalized");
  const double diagonal = is_eigenproblem || is(routine, "pdgetrf") ? 0 : n;
  side = (int)sqrt((double)ranks);
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "R", side, side);
  Cblacs_gridinfo(grid, &side, &side, &row, &column);
  if (row >= 0) {
    rows = numroc_(&n, &block, &row, &origin, &side);
    columns = numroc_(&n, &block, &column, &origin, &side);
    const int leading = rows > 0 ? rows : 1;  // a rank may have no part of a small matrix
    descinit_(descriptor, &n, &n, &block, &block, &origin, &origin, &grid, &leading, &info);
    a = new_part(), b = new_part(), c = new_part();
    make_room(arguments[1], ranks);
  }
  if (rank == 0) printf("{\"seconds\": [");
  for (int repeat = 0; repeat < atoi(arguments[4]); ++repeat) {
    if (row >= 0) fill(a, 1, diagonal), fill(b, 3, n), fill(c, 1, diagonal);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    info = row >= 0 ? compute(arguments[1]) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (info != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0) printf("%s%.6f", repeat == 0 ? "" : ", ", MPI_Wtime() - begin);
  }
  double sum = 0;
  for (size_t i = 0; row >= 0 && i < (size_t)rows * (size_t)columns; ++i)
    sum += reals == 2 ? cabs(c[2 * i] + I * c[2 * i + 1]) : fabs(c[i]);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const double error = row >= 0 ? error_of(routine, diagonal) : -1;
  if (rank == 0) printf("], \"sum\": %.15e, \"error\": %.3e}\n", sum, error);
  MPI_Finalize();
  return 0;
}
