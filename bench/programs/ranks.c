// One rank of a job whose ranks share a GPU. Each iteration allocates matrices, runs a zgemm and a ztrsm on them, and
// frees them. The program does not use MPI, so any command may start the ranks. usage: ranks ITERATIONS DIVISOR (all
// dimensions are divided by DIVISOR)
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef double complex z;

void zgemm_(const char*, const char*, const int*, const int*, const int*, const z*, const z*, const int*, const z*,
            const int*, const z*, z*, const int*);
void ztrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const z*, const z*, const int*,
            z*, const int*);

static const z one = 1, zero = 0;
static int leading, inner, size, order, columns;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// A new matrix with all elements equal to `element`, also in the padding between columns.
static z* matrix(int width, z element) {
  z* first = malloc(sizeof(z) * (size_t)leading * (size_t)width);
  for (size_t i = 0; i < (size_t)leading * (size_t)width; ++i) first[i] = element;
  return first;
}

static double product(void) {
  z *a = matrix(inner, 2 + 0.5 * I), *b = matrix(size, 0.5 + 0.1 * I), *c = matrix(size, 0);
  zgemm_("N", "N", &size, &size, &inner, &one, a, &leading, b, &leading, &zero, c, &leading);
  const double sample = creal(c[(size_t)leading * (size_t)(size - 1) + (size_t)size - 1]);
  free(a), free(b), free(c);
  return sample;
}

static double solution(void) {
  z *t = matrix(order, 1e-3), *x = matrix(columns, 1 + 0.3 * I);
  for (int i = 0; i < order; ++i) t[(size_t)i * (size_t)leading + (size_t)i] = 2;
  ztrsm_("L", "U", "N", "N", &order, &columns, &one, t, &leading, x, &leading);
  const double sample = creal(x[(size_t)leading * (size_t)(columns - 1)]);
  free(t), free(x);
  return sample;
}

int main(int count, char** arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: ranks ITERATIONS DIVISOR\n");
    return 2;
  }
  const int divisor = atoi(arguments[2]);
  leading = 6750 / divisor, inner = 256 / divisor, size = 1978 / divisor, order = 2234 / divisor;
  columns = 4516 / divisor;
  double sum = 0;
  const double begin = now();
  for (int i = 0; i < atoi(arguments[1]); ++i) sum += product() + solution();
  // A single write, so that the lines of several ranks do not mix.
  printf("{\"seconds\": %.6f, \"sum\": %.15e}\n", now() - begin, sum);
  return 0;
}
