// Functions with the names of BLAS and LAPACK routines that take other arguments.
#include "foreign.h"

#include <math.h>
#include <stdlib.h>

// As in the Scientific Subroutine Package: solves a symmetric system, given by the packed upper triangle.
void dgels_(double* r, double* a, const int* m, const int* n, const double* eps, int* ier, double* aux) {
  *ier = 0;
  for (int j = 0, at = 0; j < *m; ++j) {
    at += j;
    if (fabs(a[at + j]) < *eps) *ier = j + 1;
    for (int k = 0; k < *n; ++k) r[j + k * *m] /= a[at + j];
    aux[j] = a[at + j];
    note();
  }
}
void spotrf_(float* values, int* count) {
  for (int i = 0; i < *count; ++i) values[i] *= 0.5F;
  if (*count < 0) abort();
  note();
}
double zgeev_(double x) {
  note();
  return 2 * x;
}
int dgemm_(double* c, const double* a, int n) {
  for (int i = 0; i < n; ++i) c[i] += a[i];
  note();
  return n;
}
struct product zgemm_(double x, double y) {
  note();
  return (struct product){x * y, x + y};
}
float ssyrk_(const float* values, const long* count, float factor) {
  float sum = 0;
  for (long i = 0; i < *count; ++i) sum += factor * values[i];
  note();
  return sum;
}
void dtrsm_(int count, ...) {
  (void)count;
  note();
}
double cblas_dgemm(double* values, int count) {
  note();
  return values[count - 1];
}
int cblas_dgemv(int rows, int columns, double* a, double* x, double* y) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) y[i] += a[i + (long)j * rows] * x[j];
  note();
  return rows;
}
// Wrappers in C, which take integers by value.
int dgetrf(int m, int n, double* a, int lda, int* pivots) {
  for (int i = 0; i < m && i < n; ++i) pivots[i] = (int)a[i + (long)i * lda];
  note();
  return 0;
}
int dpotrf(char uplo, int n, double* a, int lda) {
  for (int i = 0; i < n; ++i) a[i + (long)i * lda] = uplo;
  note();
  return n;
}
int dgeqrf(int m, int n, double* a, int lda, double* tau) {
  for (int i = 0; i < n; ++i) tau[i] = a[(long)i * lda] + m;
  note();
  return 0;
}
int dsyev(char job, char uplo, int n, double* a, int lda, double* w) {
  for (int i = 0; i < n; ++i) w[i] = a[i + (long)i * lda] + job + uplo;
  note();
  return n;
}
double dgemv(double alpha, const double* x, int n) {
  note();
  return alpha * x[n - 1];
}
