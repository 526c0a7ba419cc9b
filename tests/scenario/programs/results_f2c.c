// A norm in single precision by a LAPACK that f2c has translated to C: its REAL functions return a double.
// Usage: results_f2c slange_|slansy_
#include <sys/mman.h>

#include "scenario.h"

void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);

/// Only the largest element, which is all that is asked for here.
__attribute__((noinline)) double slange_(const char* norm, const int* m, const int* n, const float* a, const int* lda,
                                         float* work) {
  double most = 0;
  if (*norm != 'M' || !work) return -1;
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) most = fmax(most, fabsf(a[i + (size_t)j * *lda]));
  return most;
}

__attribute__((noinline)) double slansy_(const char* norm, const char* uplo, const int* n, const float* a,
                                         const int* lda, float* work) {
  double most = 0;
  if (*norm != 'M' || *uplo != 'U' || !work) return -1;
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i <= j; ++i) most = fmax(most, fabsf(a[i + (size_t)j * *lda]));
  return most;
}

enum { N = 512, K = 32 };

int main(int argc, char** argv) {
  const int n = N, k = K;
  const float one = 1;
  float* const a = malloc(sizeof(float) * N * K);
  float* const c = mmap(NULL, sizeof(float) * N * N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  float work[N];
  if (!a || c == MAP_FAILED || argc < 2) abort();
  for (int i = 0; i < N * K; ++i) a[i] = (float)(i % 13) / 8;
  for (int call = 0; call < 2; ++call) sgemm_("N", "T", &n, &n, &k, &one, a, &n, a, &n, &one, c, &n);
  const double found =
      strcmp(argv[1], "slansy_") != 0 ? slange_("M", &n, &n, c, &n, work) : slansy_("M", "U", &n, c, &n, work);
  float most = 0;
  for (int i = 0; i < N * N; ++i) most = fmaxf(most, c[i]);
  verdict("a REAL that is returned as a double", found == most);
  return scenario_status();
}
