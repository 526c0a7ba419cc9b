// One ScaLAPACK routine on a P x P grid of ranks: the seconds of each repetition, and a number that depends on all of
// the result, as JSON on rank 0. usage: scalapack pdgemm|pdtrsm|pdpotrf|pdgetrf|pdsyevd N BLOCK REPEATS. Matrices are
// made anew before each repetition.
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scalapack.h"

static const int one = 1, origin = 0;
static const double unit = 1, zero = 0;
static int n, block, side, row, column, rows, columns, descriptor[9];
static double *a, *b, *c, *values, *work;
static int *integers, work_size, integer_size;

// Symmetric, with a dominant diagonal: fit for every routine.
static double element(int i, int j) {
  const unsigned low = (unsigned)(i < j ? i : j), high = (unsigned)(i < j ? j : i);
  unsigned state = low * 2654435761u ^ (high + 1u) * 40503u;
  state = (state ^ state >> 15) * 2246822519u;
  return (double)(state >> 8) / 16777216.0 - 0.5 + (i == j ? n : 0);
}

static void fill(double* part) {
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i)
      part[i + (size_t)j * (size_t)rows] =
          element((i / block * side + row) * block + i % block, (j / block * side + column) * block + j % block);
}

static double* new_part(void) {
  return malloc(sizeof(double) * (size_t)rows * (size_t)columns);
}

// Returns ScaLAPACK's info.
static int compute(const char* routine) {
  int info = 0;
  if (strcmp(routine, "pdgemm") == 0) {
    pdgemm_("N", "N", &n, &n, &n, &unit, a, &one, &one, descriptor, b, &one, &one, descriptor, &zero, c, &one, &one,
            descriptor);
  } else if (strcmp(routine, "pdtrsm") == 0) {
    pdtrsm_("L", "L", "N", "N", &n, &n, &unit, a, &one, &one, descriptor, c, &one, &one, descriptor);
  } else if (strcmp(routine, "pdpotrf") == 0) {
    pdpotrf_("L", &n, c, &one, &one, descriptor, &info);
  } else if (strcmp(routine, "pdgetrf") == 0) {
    pdgetrf_(&n, &n, c, &one, &one, descriptor, integers, &info);
  } else {
    pdsyevd_("V", "L", &n, b, &one, &one, descriptor, values, c, &one, &one, descriptor, work, &work_size, integers,
             &integer_size, &info);
  }
  return info;
}

static void make_room(const char* routine) {
  work_size = integer_size = -1;
  integer_size = rows + block;
  if (strcmp(routine, "pdsyevd") == 0) {
    double size = 0;
    int info = 0;
    const int query = -1;
    values = malloc(sizeof(double) * (size_t)n);
    pdsyevd_("V", "L", &n, b, &one, &one, descriptor, values, c, &one, &one, descriptor, &size, &query, &integer_size,
             &query, &info);
    work_size = (int)size + 2 * n * block;  // its query asks for too little
    work = malloc(sizeof(double) * (size_t)work_size);
  }
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
  side = (int)sqrt((double)ranks);
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "R", side, side);
  Cblacs_gridinfo(grid, &side, &side, &row, &column);
  if (row >= 0) {
    rows = numroc_(&n, &block, &row, &origin, &side);
    columns = numroc_(&n, &block, &column, &origin, &side);
    descinit_(descriptor, &n, &n, &block, &block, &origin, &origin, &grid, &rows, &info);
    a = new_part(), b = new_part(), c = new_part();
    make_room(arguments[1]);
  }
  if (rank == 0) printf("{\"seconds\": [");
  for (int repeat = 0; repeat < atoi(arguments[4]); ++repeat) {
    if (row >= 0) fill(a), fill(b), fill(c);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    info = row >= 0 ? compute(arguments[1]) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (info != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0) printf("%s%.6f", repeat == 0 ? "" : ", ", MPI_Wtime() - begin);
  }
  double sum = 0;
  for (size_t i = 0; row >= 0 && i < (size_t)rows * (size_t)columns; ++i) sum += fabs(c[i]);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("], \"sum\": %.15e}\n", sum);
  MPI_Finalize();
  return 0;
}
