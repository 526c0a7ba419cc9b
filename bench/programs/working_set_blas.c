/* A working set of matrices that is used repeatedly (working_set.h), by dgemm.
 *
 *   working_set_blas ORDER MEBIBYTES ROUNDS */
#include <stdlib.h>

#include "fortran_blas.h"
#include "working_set.h"

static void multiply(int order, const double* a, const double* b, double* c) {
  static const double one = 1, zero = 0;
  dgemm_("N", "N", &order, &order, &order, &one, a, &order, b, &order, &zero, c, &order, 1, 1);
}

int main(int count, char** arguments) {
  if (count != 4) fail("usage: working_set_blas ORDER MEBIBYTES ROUNDS");
  struct WorkingSet set = parse_working_set(arguments[1], arguments[2], arguments[3]);
  const size_t bytes = matrix_elements(&set) * sizeof(double);
  set.a = malloc(set.pairs * bytes);
  set.b = malloc(set.pairs * bytes);
  set.c = malloc(bytes);
  if (!set.a || !set.b || !set.c) fail("out of memory");
  fill_working_set(&set);
  go_through("working_set_blas", &set, multiply);
}
