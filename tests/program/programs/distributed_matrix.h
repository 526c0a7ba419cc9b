/* Matrices of order n on a grid of processes, with a program's own numbers. */
#ifndef BLASTOFF_TESTS_DISTRIBUTED_MATRIX_H
#define BLASTOFF_TESTS_DISTRIBUTED_MATRIX_H

#include <mpi.h>
#include <stdlib.h>

#include "../../../bench/programs/scalapack.h"

static const int one = 1, origin = 0, query = -1;
static int n, block, grid, sides[2], place[2], held[2], descriptor[9], rank, ranks;

/* Element (i, j) of a matrix, the same on every rank. */
static double noise(int seed, int i, int j) {
  unsigned long long state = (unsigned long long)(((seed * 10007 + i) * 10007) + j + 1) * 0x9E3779B97F4A7C15ull;
  state ^= state >> 29;
  state *= 0xBF58476D1CE4E5B9ull;
  return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

/* The row (axis 0) or column of the whole matrix that a row or column of this rank's part is. */
static int global(int local, int axis) {
  return (local / block * sides[axis] + place[axis]) * block + local % block;
}

/* The whole matrix, on every rank, of `reals` (1 or 2) numbers an element. */
static double* collect(const double* part, int reals) {
  double* whole = calloc((size_t)(n * n * reals), sizeof(double));
  for (int j = 0; j < held[1]; ++j)
    for (int i = 0; i < held[0]; ++i)
      for (int r = 0; r < reals; ++r)
        whole[(global(i, 0) + global(j, 1) * n) * reals + r] = part[(i + j * held[0]) * reals + r];
  MPI_Allreduce(MPI_IN_PLACE, whole, n * n * reals, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return whole;
}

static void begin(const char* order, const char* block_order, const char* rows, const char* columns) {
  int info;
  n = atoi(order), block = atoi(block_order), sides[0] = atoi(rows), sides[1] = atoi(columns);
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "R", sides[0], sides[1]);
  Cblacs_gridinfo(grid, &sides[0], &sides[1], &place[0], &place[1]);
  for (int axis = 0; axis < 2; ++axis) held[axis] = numroc_(&n, &block, &place[axis], &origin, &sides[axis]);
  const int leading = held[0] > 0 ? held[0] : 1;
  descinit_(descriptor, &n, &n, &block, &block, &origin, &origin, &grid, &leading, &info);
}

static void end(void) {
  Cblacs_gridexit(grid);
  MPI_Finalize();
}

#endif
