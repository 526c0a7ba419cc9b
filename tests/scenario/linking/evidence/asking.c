// Calls dgemm_ with integers of both widths, if the library has them. Usage: asking narrow|wide|both
#include <string.h>

#include "product.h"

int MKL_Set_Interface_Layer(int layer) __attribute__((weak));

// The bytes behind a 32-bit integer need not be zero.
typedef union {
  long wide;
  int narrow[2];
} Integer;

static int right_product(int wide) {
  const int n = PRODUCT_SIZE, count = n * n;
  const double one = 1, zero = 0;
  Integer size;
  size.wide = n;
  if (!wide) size.narrow[1] = 77;
  double* const a = filled(count, 1);
  double* const b = filled(count, 2);
  double* const c = filled(count, 3);
  const int* const by = size.narrow;
  dgemm_("N", "N", by, by, by, &one, a, by, b, by, &zero, c, by);
  const int right = holds_product(n, n, n, a, n, b, n, 0.0, NULL, c, n);
  free(a);
  free(b);
  free(c);
  return right;
}

int main(int argc, char** argv) {
  const char* const widths = argc > 1 ? argv[1] : "narrow";
  for (int wide = 0; wide < 2; ++wide) {
    const int wanted = strcmp(widths, "both") == 0 || strcmp(widths, wide ? "wide" : "narrow") == 0;
    if (!wanted) continue;
    if (MKL_Set_Interface_Layer) MKL_Set_Interface_Layer(wide);
    verdict(wide ? "a product of 64-bit integers" : "a product of 32-bit integers", right_product(wide));
  }
  return scenario_status();
}
