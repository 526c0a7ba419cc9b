// Ranks that make products in step: a few small ones, then larger ones. Prints the seconds that they took. usage:
// ranks_share_cores PRODUCTS MILLISECONDS; waiting_blas.c takes so long for each.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern int blas_calls, blas_milliseconds, others_on_cpu;
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

enum { small = 16, n = 64, small_products = 3 };
static double a[n * n], b[n * n], c[n * n];

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int products = small_products + atoi(argv[1]);
  blas_milliseconds = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  int rank = 0, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < n * n; ++i) a[i] = 1, b[i] = 2;
  const double one = 1, zero = 0, begin = MPI_Wtime();
  for (int product = 0; product < products; ++product) {
    const int before = blas_calls, size = product < small_products ? small : n;
    dgemm_("N", "N", &size, &size, &size, &one, a, &size, b, &size, &zero, c, &size);
    right &= c[0] == 2 * size && c[size * size - 1] == 2 * size;
    const int own = blas_calls - before;
    int all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    others_on_cpu = all > own;
  }
  if (rank == 0) printf("%.3f\n", MPI_Wtime() - begin);
  MPI_Finalize();
  return right ? 0 : 1;
}
