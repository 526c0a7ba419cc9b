// One ScaLAPACK routine on a P x P grid of ranks: the seconds of each repetition, and a number that depends on all of
// the result, as JSON on rank 0. usage: scalapack ROUTINE N BLOCK REPEATS, ROUTINE: pdgemm, pdtrsm, pdpotrf, pdgetrf,
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

// Fills this rank's part of a symmetric or Hermitian matrix; adds `diagonal` to the diagonal.
static void fill(double* part, unsigned seed, double diagonal) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      const unsigned here = (unsigned)((i / block * side + row) * block + i % block);
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
  // Matrices of eigenproblems have eigenvalues on both sides of zero. All others have a dominant diagonal, which suits
  // every other routine.
  const char* const routine = arguments[1];
  const int is_eigenproblem = strstr(routine, "evd") || strstr(routine, "gvx") || is(routine, "generalized");
  const double diagonal = is_eigenproblem ? 0 : n;
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
  if (rank == 0) printf("], \"sum\": %.15e}\n", sum);
  MPI_Finalize();
  return 0;
}
