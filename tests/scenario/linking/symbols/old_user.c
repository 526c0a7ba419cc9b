// A program that was linked with the old dgemm_.
#include "product.h"

__asm__(".symver dgemm_, dgemm_@V1");

int main(void) {
  verdict_of("products of the old dgemm_", right_products(dgemm_));
  return scenario_status();
}
