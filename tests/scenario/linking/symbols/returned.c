// A program with a product of its own that returns a number, as BLAS does that f2c has translated to C. RETURNED: this
// number.
#include "product.h"

typedef int Product(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                    const int*, const double*, const int*, const double*, double*, const int*);
Product own_product __asm__("dgemm_");

int own_product(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
                const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
                const int* ldc) {
  if (*transa != 'N' || *transb != 'N') abort();  // this program does not need it
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * (long)*lda] * b[l + j * (long)*ldb];
      double* const element = &c[i + j * (long)*ldc];
      *element = *alpha * sum + (*beta == 0 ? 0 : *beta * *element);
    }
  return RETURNED;
}

int main(void) {
  const int n = PRODUCT_SIZE, count = n * n;
  const double one = 1, zero = 0;
  Product* volatile product = own_product;  // the compiler must not know what it returns
  double* const a = filled(count, 1);
  double* const b = filled(count, 2);
  double* const c = filled(count, 3);
  for (int call = 0; call < PRODUCT_CALLS; ++call) {
    a[call] += 1.0;
    const int returned = product("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    verdict("a product", returned == RETURNED && holds_product(n, n, n, a, n, b, n, 0.0, NULL, c, n));
  }
  free(a);
  free(b);
  free(c);
  return scenario_status();
}
