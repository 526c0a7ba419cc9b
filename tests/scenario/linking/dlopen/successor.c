// A plugin with a VERSION and a state. It asks its BLAS (counted_blas.c) for its number of calls.
#include "product.h"

int blas_calls(void);
int plugin_version(void);
int plugin_run(void);
int plugin_runs(void);
int plugin_reached_its_blas(void);

static int runs;

int plugin_version(void) {
  return VERSION;
}

int plugin_run(void) {
  ++runs;
  return right_products(dgemm_);
}

int plugin_runs(void) {
  return runs;
}

int plugin_reached_its_blas(void) {
  return blas_calls() > 0;
}
