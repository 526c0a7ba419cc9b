// A result that has stayed on the device, and routines of vectors that read and write rows of it, or the whole of it:
//   results_vectors swap|scal|axpy|copy|rank-one|product
#include "results.h"

void dswap_(const int* n, double* x, const int* incx, double* y, const int* incy);
void dscal_(const int* n, const double* alpha, double* x, const int* incx);
void daxpy_(const int* n, const double* alpha, const double* x, const int* incx, double* y, const int* incy);
void dcopy_(const int* n, const double* x, const int* incx, double* y, const int* incy);
void dger_(const int* m, const int* n, const double* alpha, const double* x, const int* incx, const double* y,
           const int* incy, double* a, const int* lda);
void dgemv_(const char* trans, const int* m, const int* n, const double* alpha, const double* a, const int* lda,
            const double* x, const int* incx, const double* beta, double* y, const int* incy);

enum { ROW = 5, OTHER = 130, FACTOR = 3 };
static const int order = N, stride = N, one = 1;
static const double factor = FACTOR;

/// Exchanges two rows that are N elements apart in memory.
static int swap(void) {
  dswap_(&order, c + ROW, &stride, c + OTHER, &stride);
  for (int j = 0; j < N; ++j) {
    double* const column = expected + j * N;
    const double kept = column[ROW];
    column[ROW] = column[OTHER];
    column[OTHER] = kept;
  }
  return right_now_and_later();
}

static int scal(void) {
  dscal_(&order, &factor, c + ROW, &stride);
  for (int j = 0; j < N; ++j) expected[ROW + j * N] *= FACTOR;
  return right_now_and_later();
}

static int axpy(void) {
  daxpy_(&order, &factor, c + ROW, &stride, c + OTHER, &stride);
  for (int j = 0; j < N; ++j) expected[OTHER + j * N] += FACTOR * expected[ROW + j * N];
  return right_now_and_later();
}

static int copy(void) {
  dcopy_(&order, c + ROW, &stride, c + OTHER, &stride);
  for (int j = 0; j < N; ++j) expected[OTHER + j * N] = expected[ROW + j * N];
  return right_now_and_later();
}

static int rank_one(void) {
  dger_(&order, &order, &factor, a, &one, b, &one, c, &order);
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) expected[i + j * N] += FACTOR * a[i] * b[j];
  return right_now_and_later();
}

/// Twice, so that the second vector is added to the first one where that is. It has pages of its own.
static int product(void) {
  double* const y = mapped();
  for (int call = 0; call < 2; ++call) {
    const double beta = call;
    dgemv_("N", &order, &order, &factor, c, &order, a, &one, &beta, y, &one);
  }
  int all = 1;
  for (int i = 0; i < N; ++i) {
    double sum = 0;
    for (int j = 0; j < N; ++j) sum += 2 * FACTOR * expected[i + j * N] * a[j];
    all &= fabs(y[i] - sum) <= 1e-9;
  }
  return all && right_now_and_later();
}

static const struct result_case cases[] = {{"swap", swap}, {"scal", scal},         {"axpy", axpy},
                                           {"copy", copy}, {"rank-one", rank_one}, {"product", product}};

int main(int count, char** arguments) {
  if (count != 2) return 98;
  prepare(mapped());
  accumulate(c);
  return run_case(cases, sizeof cases / sizeof *cases, arguments[1]);
}
