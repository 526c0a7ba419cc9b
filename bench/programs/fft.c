// Times executions of one FFTW plan. The input is written before each execution.
//
// fft cube N THREADS REPEATS     a complex three-dimensional transform of N x N x N points
// fft real N THREADS REPEATS     the same of real numbers
// fft sixty N THREADS REPEATS    sixty executions of N transforms of N points, as plane-wave codes make them
//
// Prints the seconds of each execution as a JSON list.
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char** arguments) {
  if (count != 5) {
    fprintf(stderr, "usage: fft cube|real|sixty N THREADS REPEATS\n");
    return 2;
  }
  const char* what = arguments[1];
  const int n = atoi(arguments[2]);
  const int repeats = atoi(arguments[4]);
  fftw_init_threads();
  fftw_plan_with_nthreads(atoi(arguments[3]));

  const int sixty = strcmp(what, "sixty") == 0;
  const size_t points = (size_t)n * (size_t)n * (sixty ? 1 : (size_t)n);
  fftw_complex* in = fftw_malloc(points * sizeof *in);
  fftw_complex* out = fftw_malloc(2 * points * sizeof *out);
  fftw_plan plan;
  if (sixty)
    plan = fftw_plan_many_dft(1, &n, n, in, NULL, 1, n, out, NULL, 1, n, FFTW_FORWARD, FFTW_MEASURE);
  else if (strcmp(what, "real") == 0)
    plan = fftw_plan_dft_r2c_3d(n, n, n, (double*)in, out, FFTW_MEASURE);
  else
    plan = fftw_plan_dft_3d(n, n, n, in, out, FFTW_FORWARD, FFTW_MEASURE);

  double checksum = 0;
  printf("[");
  for (int i = 0; i < repeats; ++i) {
    for (size_t j = 0; j < points; ++j) {
      in[j][0] = (double)((j + (size_t)i) % 17);
      in[j][1] = (double)(j % 13);
    }
    const double begin = now();
    for (int k = 0; k < (sixty ? 60 : 1); ++k) fftw_execute(plan);
    printf("%s%.9f", i == 0 ? "" : ", ", now() - begin);
    checksum += out[points / 3][0];
  }
  printf("]\n");
  fftw_destroy_plan(plan);
  return checksum != checksum;
}
