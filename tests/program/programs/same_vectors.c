// Ranks that solve the same degenerate eigenproblem, each for itself, as programs do in which each rank then goes on
// with its own part of longer vectors. Prints whether all have the same vectors, to the last bit.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

void dsyev_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*);

enum { n = 64, room = 34 * n };
static double vectors[n * n], of_first[n * n], values[n], work[room];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  // The eigenvalues are 1, n - 1 times, and n + 1. The vectors of 1 may have any basis.
  for (int i = 0; i < n * n; ++i) vectors[i] = i % n == i / n ? 2 : 1;
  const int order = n, length = room;
  int rank = 0, info = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  dsyev_("V", "L", &order, vectors, &order, values, work, &length, &info);
  if (rank == 0) memcpy(of_first, vectors, sizeof vectors);
  MPI_Bcast(of_first, n * n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const int own = info == 0 && memcmp(of_first, vectors, sizeof vectors) == 0;
  int all = 0;
  MPI_Reduce(&own, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0) puts(all ? "same" : "different");
  MPI_Finalize();
  return info;
}
