/* Programs in which the CPU rewrites matrices that the device has used. usage: rewriting CASE [ORDER [WIDTH [STEPS]]]
   lu: a right-looking factorization. The CPU factors the panel; the rest is dtrsm and dgemm on smaller and smaller
   parts. swaps: the same with row exchanges, which touch nearly all pages of the rest. rebuild: one matrix, which the
   CPU rebuilds for each zgetrf and its zgetrs. iterate: products with a matrix that does not change. The seconds of a
   step include everything that the program does in it, and page faults. */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "measure.h"

typedef double complex z;

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*);
void zgetrf_(const int*, const int*, z*, const int*, int*, int*);
void zgetrs_(const char*, const int*, const int*, const z*, const int*, const int*, z*, const int*, int*);

static int n = 3000, width = 128, steps = 24, done;
static double* seconds;
static struct rusage after_ten;
static double checksum;

static struct rusage usage(void) {
  struct rusage all;
  getrusage(RUSAGE_SELF, &all);
  return all;
}

static double cpu_seconds(const struct rusage* used) {
  return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
         1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static void* allocate(size_t bytes) {
  void* memory = NULL;
  if (posix_memalign(&memory, 4096, bytes)) fail("out of memory");
  memset(memory, 0, bytes);
  return memory;
}

static void step_took(double begun) {
  seconds[done++] = now() - begun;
  if (done == 10) after_ten = usage();
}

static void swap_rows(double* rest, int rows, int columns, int ld) {
  for (int j = 0; j < columns; ++j) {
    double* column = rest + (size_t)j * (size_t)ld;
    for (int i = 0; i < width && i < rows; ++i) {
      const int other = i + (int)((unsigned)i * 40503u % (unsigned)(rows - i));
      const double kept = column[i];
      column[i] = column[other];
      column[other] = kept;
    }
  }
}

static void factorize(int with_swaps) {
  double* a = allocate(sizeof *a * (size_t)n * (size_t)n);
  for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) a[i] = (double)(i * 40503u & 1023u) / 1e6;
  for (int i = 0; i < n; ++i) a[(size_t)i * (size_t)n + (size_t)i] = n;
  const double one = 1, minus_one = -1;
  for (int j = 0; j + width < n && done < steps; j += width) {
    const double begun = now();
    const int rest = n - j - width;
    double* corner = a + j + (size_t)j * (size_t)n;
    double* right = corner + (size_t)width * (size_t)n;
    for (int k = 0; k < width; ++k)
      for (int i = k + 1; i < n - j; ++i) corner[i + (size_t)k * (size_t)n] /= n;
    if (with_swaps) swap_rows(right, n - j, rest, n);
    dtrsm_("L", "L", "N", "U", &width, &rest, &one, corner, &n, right, &n);
    dgemm_("N", "N", &rest, &rest, &width, &minus_one, corner + width, &n, right, &n, &one, right + width, &n);
    step_took(begun);
  }
  checksum = a[(size_t)n * (size_t)n - 1];
}

static void rebuild(void) {
  z* a = allocate(sizeof *a * (size_t)n * (size_t)n);
  z* b = allocate(sizeof *b * (size_t)n * (size_t)width);
  int* pivots = allocate(sizeof *pivots * (size_t)n);
  for (int step = 0; step < steps; ++step) {
    const double begun = now();
    int info = 0;
    for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) a[i] = (double)((i + (size_t)step) * 40503u & 1023u) / 1e6;
    for (int i = 0; i < n; ++i) a[(size_t)i * (size_t)n + (size_t)i] = n;
    for (size_t i = 0; i < (size_t)n * (size_t)width; ++i) b[i] = (double)(i & 1023u);
    zgetrf_(&n, &n, a, &n, pivots, &info);
    zgetrs_("N", &n, &width, a, &n, pivots, b, &n, &info);
    checksum += creal(b[(size_t)step]) + info;
    step_took(begun);
  }
}

static void iterate(void) {
  double* a = allocate(sizeof *a * (size_t)n * (size_t)n);
  double* x = allocate(sizeof *x * (size_t)n * (size_t)width);
  double* y = allocate(sizeof *y * (size_t)n * (size_t)width);
  const double one = 1, zero = 0;
  for (size_t i = 0; i < (size_t)n * (size_t)n; ++i) a[i] = (double)(i * 40503u & 1023u) / 1e6;
  for (int step = 0; step < steps; ++step) {
    const double begun = now();
    for (size_t i = 0; i < (size_t)n * (size_t)width; ++i) x[i] = 1 + y[i] / (1 + (double)n * (double)n);
    dgemm_("N", "N", &n, &width, &n, &one, a, &n, x, &n, &zero, y, &n);
    checksum = y[0];
    step_took(begun);
  }
}

int main(int count, char** values) {
  int* const sizes[] = {&n, &width, &steps};
  const char* const what = count > 1 ? values[1] : "";
  for (int i = 2; i < count && i < 5; ++i) *sizes[i - 2] = atoi(values[i]);
  if (count > 5 || n < 2 || width < 1 || width >= n || steps < 1) fail("usage: rewriting CASE [ORDER [WIDTH [STEPS]]]");
  seconds = calloc((size_t)steps, sizeof *seconds);
  if (!seconds) fail("out of memory");
  const struct rusage before = usage();
  if (strcmp(what, "lu") == 0 || strcmp(what, "swaps") == 0)
    factorize(what[0] == 's');
  else if (strcmp(what, "rebuild") == 0)
    rebuild();
  else if (strcmp(what, "iterate") == 0)
    iterate();
  else
    fail("CASE is lu, swaps, rebuild or iterate");
  const struct rusage all = usage();
  double later = 0;
  for (int i = 10; i < done; ++i) later += seconds[i];
  printf("{\"program\": \"rewriting\", \"case\": \"%s\", \"order\": %d, \"width\": %d, ", what, n, width);
  print_statistics("seconds", summarize(seconds, (size_t)done));
  printf(", \"page_faults\": %ld, \"checksum\": %.17g, ", all.ru_minflt - before.ru_minflt, checksum);
  printf("\"after_ten\": {\"seconds\": %.6g, \"cpu_seconds\": %.6g, \"page_faults\": %ld}}\n", later,
         cpu_seconds(&all) - cpu_seconds(&after_ten), all.ru_minflt - after_ten.ru_minflt);
  free(seconds);
}
