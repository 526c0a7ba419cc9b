// A dgemm for the products of ranks_share_cores. It waits `blas_milliseconds`, and twice as long if others compute on
// the CPU, too, as on cores that share a memory.
#include <time.h>

int blas_calls, blas_milliseconds, others_on_cpu;

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc) {
  (void)transa, (void)transb, (void)m, (void)lda, (void)ldb, (void)beta;
  const struct timespec pause = {0, blas_milliseconds * 1000000L * (others_on_cpu ? 2 : 1)};
  nanosleep(&pause, NULL);
  ++blas_calls;
  for (int i = 0; i < *n * *ldc; ++i) c[i] = *alpha * *k * a[0] * b[0];
}
