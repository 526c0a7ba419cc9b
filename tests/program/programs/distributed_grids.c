/* Calls pdgemm on grids of four ranks, and measures the slowest rank in each call. usage: distributed_grids N CALLS
 * GRID... All calls of a grid come before those of the next. GRID:
 *   rows, columns  2 x 2 in the order of rows or of columns
 *   some           1 x 3 of the ranks 3, 1 and 2; rank 0 has no part
 *   halves         two grids at once: 1 x 2 of the ranks 0 and 1, 2 x 1 of the ranks 3 and 2
 *   death          2 x 2; the last rank says when, by CLOCK_MONOTONIC, and kills itself before its last call
 * Afterwards, all grids have one more call. Prints the milliseconds of each call, then "right" on rank 0. */
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../bench/programs/scalapack.h"

void Cblacs_gridmap(int*, int*, int, int, int);

enum { BLOCK = 24, MOST = 8 };

static const int one = 1, origin = 0, block = BLOCK;
static const double unit = 1, zero = 0;

static int new_grid(int* ranks, int rows, int columns) {
  int context;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridmap(&context, ranks, rows, rows, columns);
  return context;
}

static int ordered_grid(const char* order) {
  int context;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, order, 2, 2);
  return context;
}

/* C = A B, where all elements of A are 1, and those of column j of B are j + 1. Returns whether C is right. */
static int multiply(int context, int n, double* seconds) {
  int rows, columns, row, column, info, descriptor[9], right = 1;
  *seconds = 0;
  if (context < 0) return 1;
  Cblacs_gridinfo(context, &rows, &columns, &row, &column);
  if (row < 0) return 1;
  const int held_rows = numroc_(&n, &block, &row, &origin, &rows);
  const int held_columns = numroc_(&n, &block, &column, &origin, &columns);
  const int leading = held_rows > 0 ? held_rows : 1;
  descinit_(descriptor, &n, &n, &block, &block, &origin, &origin, &context, &leading, &info);
  const int held = held_rows * held_columns;
  double* const part = malloc(3 * sizeof(double) * (size_t)(held + 1));
  double *const b = part + held, *const c = b + held;
  for (int i = 0; i < held; ++i) {
    const int j = i / leading;
    part[i] = 1, c[i] = NAN;
    b[i] = (j / BLOCK * columns + column) * BLOCK + j % BLOCK + 1;
  }
  const double begin = MPI_Wtime();
  pdgemm_("N", "N", &n, &n, &n, &unit, part, &one, &one, descriptor, b, &one, &one, descriptor, &zero, c, &one, &one,
          descriptor);
  *seconds = MPI_Wtime() - begin;
  for (int i = 0; i < held; ++i) right = right && c[i] == n * b[i];
  free(part);
  return right;
}

static int grid_of(const char* kind, int rank) {
  if (strcmp(kind, "some") == 0) return new_grid((int[]){3, 1, 2}, 1, 3);
  if (strcmp(kind, "halves") == 0) return rank < 2 ? new_grid((int[]){0, 1}, 1, 2) : new_grid((int[]){3, 2}, 2, 1);
  return ordered_grid(strcmp(kind, "columns") == 0 ? "C" : "R");
}

int main(int count, char** arguments) {
  int rank, grids[MOST], right = 1;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count < 4 || count > 3 + MOST) return 2;
  const int n = atoi(arguments[1]), calls = atoi(arguments[2]), number = count - 3;
  for (int i = 0; i < number; ++i) grids[i] = grid_of(arguments[3 + i], rank);
  for (int call = 0; call < (calls + 1) * number; ++call) {
    const int grid = call < calls * number ? call / calls : call % number;
    double seconds, slowest;
    if (strcmp(arguments[3 + grid], "death") == 0 && call == calls - 1 && rank == 3) {
      struct timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      fprintf(stderr, "dies at %.6f\n", (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
      raise(SIGKILL);
    }
    right = multiply(grids[grid], n, &seconds) && right;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.0f ", 1e3 * slowest), fflush(stdout);
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) puts(right ? "right" : "WRONG");
  for (int i = 0; i < number; ++i)
    if (grids[i] >= 0) Cblacs_gridexit(grids[i]);
  MPI_Finalize();
  return !right;
}
