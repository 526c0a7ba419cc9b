// Makes the same call of one library twice: one_of_each gemm|gemv|potrf|dft|r2c|c2r
// Prints whether both results are equal in every byte.
#include "scenario.h"

#ifdef WITH_FFTW
#include <fftw3.h>
#endif

void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
#ifdef WITH_LAPACK
void dpotrf_(const char*, const int*, double*, const int*, int*);
#endif

enum { order = 40, count = order * order, points = 12 * 10 * 14, length = 8, room = 2 * points };

static double* gemm(void) {
  double* a = filled(count, 1);
  double* c = calloc(room, sizeof *c);
  multiply(order, order, order, a, order, a, order, 0, c, order);
  free(a);
  return c;
}

static double* gemv(void) {
  const double one = 1, zero = 0;
  const int n = length, increment = 1;
  double* a = filled(length * length, 1);
  double* x = filled(length, 2);
  double* y = calloc(room, sizeof *y);
  dgemv_("N", &n, &n, &one, a, &n, x, &increment, &zero, y, &increment);
  free(a);
  free(x);
  return y;
}

#ifdef WITH_LAPACK
static double* potrf(void) {
  double* a = filled(room, 1);
  for (int i = 0; i < order; ++i) a[i + i * order] += 2 * order;
  const int n = order;
  int info = -1;
  dpotrf_("L", &n, a, &n, &info);
  verdict("info", info == 0);
  return a;
}
#endif

#ifdef WITH_FFTW
static double* transform(const char* kind) {
  double* in = fftw_malloc(room * sizeof *in);
  double* out = calloc(room, sizeof *out);
  fill(in, room, 1);
  fftw_complex* const complex_in = (fftw_complex*)in;
  fftw_complex* const complex_out = (fftw_complex*)out;
  fftw_plan plan = NULL;
  if (strcmp(kind, "dft") == 0)
    plan = fftw_plan_dft_3d(12, 10, 14, complex_in, complex_out, FFTW_FORWARD, FFTW_ESTIMATE);
  else if (strcmp(kind, "r2c") == 0)
    plan = fftw_plan_dft_r2c_3d(12, 10, 14, in, complex_out, FFTW_ESTIMATE);
  else
    plan = fftw_plan_dft_c2r_1d(points, complex_in, out, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
  fftw_free(in);
  return out;
}
#endif

static double* result_of(const char* what) {
  if (strcmp(what, "gemm") == 0) return gemm();
  if (strcmp(what, "gemv") == 0) return gemv();
#ifdef WITH_LAPACK
  if (strcmp(what, "potrf") == 0) return potrf();
#endif
#ifdef WITH_FFTW
  return transform(what);
#endif
  printf("not built\n");
  exit(0);
}

int main(int arguments, char** argument) {
  if (arguments != 2) return 100;
  double* first = result_of(argument[1]);
  double* second = result_of(argument[1]);
  printf("%s\n", memcmp(first, second, room * sizeof *first) == 0 ? "equal" : "different");
  free(first);
  free(second);
  return scenario_status();
}
