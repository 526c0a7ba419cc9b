// Calls one function by its two names.
#include "product.h"

Gemm dgemm;

int main(void) {
  verdict_of("products of dgemm_", right_products(dgemm_));
  verdict_of("products of dgemm", right_products(dgemm));
  return scenario_status();
}
