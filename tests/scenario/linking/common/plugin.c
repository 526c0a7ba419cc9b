// A plugin that was linked with a BLAS.
#include "product.h"

int plugin_run(void);

int plugin_run(void) {
  return right_products(dgemm_);
}
