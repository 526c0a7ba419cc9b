// The functions of more_arguments.c.
#pragma once

struct plan {
  double* in;
  double* out;
  double scale;
  int n;
};

void note(void);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc, const double* shift, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, const double* tolerance, int* rank);
void cblas_dgemv(int order, int trans, int m, int n, double alpha, const double* a, int lda, const double* x, int incx,
                 double beta, double* y, int incy, double* sum);
void dcopy_(const int* n, const double* x, const int* incx, double* y, const int* incy, double* sum);
double dscal_(const int* n, const double* alpha, double* x, const int* incx);
double dgemm_64(const double* a, const double* b, double* c, double factor);
double dpotrf_64_(double* a, double factor, int n);
struct plan* fftw_plan_dft_1d(int n, double* in, double* out, double scale);
int fftw_execute(struct plan* plan, int times);
int fftw_destroy_plan(struct plan* plan, double* left);
double DftiComputeForward(void* handle, double* in, double* out, double factor);
double pdgemm_(const double* a, const double* b, const int* n, double factor);
