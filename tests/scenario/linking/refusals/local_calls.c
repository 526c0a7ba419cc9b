// A program with a product of its own that calls functions of this file only. The compiler sees which registers they
// use, and keeps values in the other registers while the product is called. It also need not align the stack.
#include "product.h"

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);

__attribute__((noinline)) static void add_column(int m, double factor, const double* a, double* c) {
  for (int i = 0; i < m; ++i) c[i] += factor * a[i];
}

__attribute__((noinline)) static void set_column(int m, int k, double beta, double alpha, const double* a, int lda,
                                                 const double* b, double* c) {
  for (int i = 0; i < m; ++i) c[i] = beta == 0 ? 0 : beta * c[i];
  for (int l = 0; l < k; ++l) add_column(m, alpha * b[l], &a[l * (long)lda], c);
}

__attribute__((noinline)) void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                                      const double* alpha, const double* a, const int* lda, const double* b,
                                      const int* ldb, const double* beta, double* c, const int* ldc) {
  if (*transa != 'N' || *transb != 'N') return;
  for (int j = 0; j < *n; ++j) set_column(*m, *k, *beta, *alpha, a, *lda, &b[j * (long)*ldb], &c[j * (long)*ldc]);
}

/// Returns how many of eight numbers are what they were before the product.
__attribute__((noinline)) static int kept(int n, const double* a, const double* b, double* c, double x) {
  const double one = 1, zero = 0;
  const double p = x + 1, q = p * x, r = q - 3, s = r * p, t = s + q, u = t * r, v = u - s, w = v * t;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  // For x = 2: 3, 6, 3, 9, 15, 45, 36, 540.
  return (p == 3) + (q == 6) + (r == 3) + (s == 9) + (t == 15) + (u == 45) + (v == 36) + (w == 540);
}

int main(int argc, char** argv) {
  (void)argv;
  const int n = PRODUCT_SIZE, count = n * n;
  double* const a = filled(count, 1);
  double* const b = filled(count, 2);
  double* const c = filled(count, 3);
  verdict("eight numbers", kept(n, a, b, c, argc + 1) == 8);
  verdict("a product", holds_product(n, n, n, a, n, b, n, 0.0, NULL, c, n));
  free(a);
  free(b);
  free(c);
  return scenario_status();
}
