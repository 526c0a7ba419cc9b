// A program whose products take a known time: waiting_blas.c waits MILLISECONDS for each. usage: whole_program SHAPE
// PRODUCTS MILLISECONDS. Shapes: row; threads, two of them; mixed, with as many products that are small and take no
// time; slowed, whose rest takes 0.8 s longer if there is a GPU's driver in the process.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern int blas_milliseconds;
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

enum { small = 4, large = 64 };
static int products;

static void product(int n, const double* a, const double* b, double* c) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  if (c[0] != 2.0 * n || c[n * n - 1] != 2.0 * n) _exit(1);
}

static void* make_products(void* with_small_ones) {
  double *const a = malloc(3 * sizeof(double) * large * large), *const b = a + large * large,
                *const c = b + large * large;
  for (int i = 0; i < large * large; ++i) a[i] = 1, b[i] = 2;
  for (int i = 0; i < products; ++i) {
    product(large, a, b, c);
    if (with_small_ones) {
      const int milliseconds = blas_milliseconds;
      blas_milliseconds = 0;
      product(small, a, b, c);
      blas_milliseconds = milliseconds;
    }
  }
  free(a);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const struct timespec outside = {0, 100000000}, longer = {0, 800000000};
  products = atoi(argv[2]);
  blas_milliseconds = atoi(argv[3]);
  nanosleep(&outside, NULL);
  pthread_t other;
  const int threads = strcmp(argv[1], "threads") == 0;
  if (threads) pthread_create(&other, NULL, make_products, NULL);
  make_products(strcmp(argv[1], "mixed") == 0 ? &products : NULL);
  if (threads) pthread_join(other, NULL);
  if (strcmp(argv[1], "slowed") == 0 && dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD)) nanosleep(&longer, NULL);
  return 0;
}
