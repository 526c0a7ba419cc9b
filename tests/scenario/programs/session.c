/* A program that loads Blastoff itself, and makes three products, the second one while Blastoff is switched off.
 *
 * usage: session LIBRARY before|later|namespace|unloaded BLAS
 * BLAS is loaded before Blastoff or later, into a separate namespace, or after Blastoff has been closed again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*gemm_function)(const char*, const char*, const int*, const int*, const int*, const double*,
                              const double*, const int*, const double*, const int*, const double*, double*, const int*);
typedef void (*switch_function)(void);

static void* opened(void* handle) {
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  return handle;
}

static void product(gemm_function gemm) {
  enum { n = 64 };
  const int order = n;
  const double one = 1, zero = 0;
  double* const a = malloc(3 * n * n * sizeof *a);
  for (int i = 0; i < 3 * n * n; ++i) a[i] = 1;
  gemm("N", "N", &order, &order, &order, &one, a, &order, a + n * n, &order, &zero, a + 2 * n * n, &order);
  if (a[2 * n * n] != n || a[3 * n * n - 1] != n) exit(3);
  free(a);
}

int main(int count, char** words) {
  if (count != 4) return 2;
  const char* const how = words[2];
  void* blas = strcmp(how, "before") == 0 ? opened(dlopen(words[3], RTLD_NOW | RTLD_LOCAL)) : NULL;
  void* const blastoff = opened(dlopen(words[1], RTLD_NOW | RTLD_LOCAL));
  const switch_function off = (switch_function)opened(dlsym(blastoff, "blastoff_disable"));
  const switch_function on = (switch_function)opened(dlsym(blastoff, "blastoff_enable"));
  if (strcmp(how, "unloaded") == 0) dlclose(blastoff);
  if (strcmp(how, "namespace") == 0) blas = opened(dlmopen(LM_ID_NEWLM, words[3], RTLD_NOW | RTLD_LOCAL));
  if (blas == NULL) blas = opened(dlopen(words[3], RTLD_NOW | RTLD_LOCAL));
  const gemm_function gemm = (gemm_function)opened(dlsym(blas, "dgemm_"));
  product(gemm);
  off();
  product(gemm);
  on();
  product(gemm);
  return dlopen("libnosuch.so", RTLD_NOW) == NULL && strstr(dlerror(), "libnosuch.so") != NULL ? 0 : 4;
}
