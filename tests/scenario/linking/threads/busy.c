// Sixteen threads call library functions, including BLAS, while the first thread loads plugins.
// Usage: busy PLUGIN...
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>

#include "product.h"

enum { THREADS = 16, ROUNDS = 4 };

static int wrong;

static int compare(const void* left, const void* right) {
  const double x = *(const double*)left, y = *(const double*)right;
  return (x > y) - (x < y);
}

static void* be_busy(void* unused) {
  for (int round = 0; round < ROUNDS; ++round) {
    double* const values = filled(2000, (unsigned)round);
    qsort(values, 2000, sizeof *values, compare);
    char text[64];
    snprintf(text, sizeof text, "%.3f %.3f", values[0], values[1999]);
    const int right = values[0] <= values[1999] && strlen(text) > 10 && right_products(dgemm_) == PRODUCT_CALLS;
    if (!right) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    free(values);
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, be_busy, NULL);
  for (int i = 1; i < argc; ++i) {
    void* const handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = handle ? (int (*)(void))dlsym(handle, "plugin_run") : NULL;
    verdict_of("a plugin's products", run ? run() : 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  verdict("the threads", wrong == 0);
  return scenario_status();
}
