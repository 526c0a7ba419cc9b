// The functions of foreign.c.
#pragma once

struct product {
  double times, plus;
};

void note(void);
void dgels_(double* r, double* a, const int* m, const int* n, const double* eps, int* ier, double* aux);
void spotrf_(float* values, int* count);
double zgeev_(double x);
int dgemm_(double* c, const double* a, int n);
struct product zgemm_(double x, double y);
float ssyrk_(const float* values, const long* count, float factor);
void dtrsm_(int count, ...);
double cblas_dgemm(double* values, int count);
int cblas_dgemv(int rows, int columns, double* a, double* x, double* y);
int dgetrf(int m, int n, double* a, int lda, int* pivots);
int dpotrf(char uplo, int n, double* a, int lda);
int dgeqrf(int m, int n, double* a, int lda, double* tau);
int dsyev(char job, char uplo, int n, double* a, int lda, double* w);
double dgemv(double alpha, const double* x, int n);
