// Functions with the names of routines that take the arguments of these routines, or addresses, and others beside them.
#include "more_arguments.h"

#include <stdlib.h>

/// LENGTHY: so much code that reading it to the end takes long.
#ifdef LENGTHY
#define REPEATED(code) code code code code code code
#define MUCH_CODE REPEATED(REPEATED(REPEATED(if (*m == 4711) c[*n] = *alpha * a[*k] + b[*lda];)))
#else
#define MUCH_CODE
#endif

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc, const double* shift, int* info) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l)
        sum +=
            (*transa == 'N' ? a[i + l * *lda] : a[l + i * *lda]) * (*transb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
      c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
    }
  note();
  MUCH_CODE
  c[0] += *shift;
  *info = 5;
}
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, const double* tolerance, int* rank) {
  *info = 0;
  for (int j = 0; j < *n; ++j)
    if (a[j + j * *lda] < 0) *info = j + 1;
  if (*uplo == 'U' && *info == 0) a[0] += 1;
  note();
  *rank = 0;
  for (int j = 0; j < *n; ++j) *rank += a[j + j * *lda] > *tolerance;
}
void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double* a, int lda, const double* x, int incx,
                 double beta, double* y, int incy, double* sum) {
  const int rows = order == 102 && trans == 111;
  for (int i = 0; i < m; ++i) {
    double product = 0;
    for (int j = 0; j < n; ++j) product += a[rows ? i + j * lda : j + i * lda] * x[j * incx];
    y[i * incy] = alpha * product + beta * y[i * incy];
  }
  note();
  *sum = 0;
  for (int i = 0; i < m; ++i) *sum += y[i * incy];
}
void dcopy_(const int* n, const double* x, const int* incx, double* y, const int* incy, double* sum) {
  double all = 0;
  for (int i = 0; i < *n; ++i) all += y[i * *incy] = x[i * *incx];
  note();
  *sum = all;
}
/// The arguments are BLAS's, but it returns the sum.
double dscal_(const int* n, const double* alpha, double* x, const int* incx) {
  double sum = 0;
  for (int i = 0; i < *n; ++i) sum += x[i * *incx] *= *alpha;
  note();
  return sum;
}
/// For matrices of order 64. The name is that of a routine with 64-bit integers.
double dgemm_64(const double* a, const double* b, double* c, double factor) {
  c[0] = factor * a[0] * b[0];
  note();
  return c[0] + 1;
}
double dpotrf_64_(double* a, double factor, int n) {
  a[n] = factor;
  note();
  return factor + n;
}
struct plan* fftw_plan_dft_1d(int n, double* in, double* out, double scale) {
  struct plan* const plan = malloc(sizeof *plan);
  if (plan == NULL) abort();
  *plan = (struct plan){in, out, scale, n};
  return plan;
}
int fftw_execute(struct plan* plan, int times) {
  for (int i = 0; i < plan->n; ++i) plan->out[i] = plan->in[i] * plan->scale * times;
  note();
  return times;
}
int fftw_destroy_plan(struct plan* plan, double* left) {
  *left = plan->scale;
  free(plan);
  return 3;
}
double DftiComputeForward(void* handle, double* in, double* out, double factor) {
  out[0] = in[0] * factor;
  note();
  return handle == in ? factor : 0;
}
double pdgemm_(const double* a, const double* b, const int* n, double factor) {
  double sum = 0;
  for (int i = 0; i < *n; ++i) sum += factor * a[i] * b[i];
  note();
  return sum;
}
