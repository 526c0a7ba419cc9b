// A program with its own functions that have the names of BLAS routines but are none.
#include "product.h"

double dgemm(double x, double y);
struct pair {
  double first, second;
};
struct pair sgemm(struct pair value);

static double offset = 1.0;

__attribute__((noinline)) double dgemm(double x, double y) {
  printf("the program's own dgemm\n");
  return x * y + offset;
}

__attribute__((noinline)) struct pair sgemm(struct pair value) {
  printf("the program's own sgemm\n");
  return (struct pair){value.second, value.first};
}

int main(void) {
  double (*volatile own)(double, double) = dgemm;
  struct pair (*volatile swap)(struct pair) = sgemm;
  verdict("its result", own(3.0, 4.0) == 13.0);
  verdict("its pair", swap((struct pair){1.0, 2.0}).first == 2.0);
  verdict_of("products", right_products(dgemm_));
  return scenario_status();
}
