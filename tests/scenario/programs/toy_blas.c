// A BLAS with one routine, which can tell its name. The build sets TOY_NAME, TOY_INTEGER and TOY_GEMM (the exported
// symbol). It counts its calls, so that a test can see which of several copies has computed.
#include <stddef.h>

static int calls;

int toy_calls(void);
const char* toy_name(void);

int toy_calls(void) {
  return calls;
}
const char* toy_name(void) {
  return TOY_NAME;
}

void TOY_GEMM(const char* transa, const char* transb, const TOY_INTEGER* m, const TOY_INTEGER* n, const TOY_INTEGER* k,
              const double* alpha, const double* a, const TOY_INTEGER* lda, const double* b, const TOY_INTEGER* ldb,
              const double* beta, double* c, const TOY_INTEGER* ldc);

void TOY_GEMM(const char* transa, const char* transb, const TOY_INTEGER* m, const TOY_INTEGER* n, const TOY_INTEGER* k,
              const double* alpha, const double* a, const TOY_INTEGER* lda, const double* b, const TOY_INTEGER* ldb,
              const double* beta, double* c, const TOY_INTEGER* ldc) {
  ++calls;
  const int ta = *transa != 'N', tb = *transb != 'N';
  for (TOY_INTEGER j = 0; j < *n; ++j) {
    for (TOY_INTEGER i = 0; i < *m; ++i) {
      double sum = 0;
      for (TOY_INTEGER l = 0; l < *k; ++l) {
        sum += (ta ? a[l + (size_t)i * *lda] : a[i + (size_t)l * *lda]) *
               (tb ? b[j + (size_t)l * *ldb] : b[l + (size_t)j * *ldb]);
      }
      double* element = &c[i + (size_t)j * *ldc];
      *element = *alpha * sum + (*beta == 0 ? 0 : *beta * *element);
    }
  }
}
