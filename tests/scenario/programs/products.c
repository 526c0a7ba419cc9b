// An ordinary program: repeated products of the same matrices. In between, the CPU reads results and changes an
// operand. Usage: products [SIZE [ROUNDS]]
#include "scenario.h"

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 96;
  const int rounds = argc > 2 ? atoi(argv[2]) : 4;
  const size_t count = (size_t)n * n;
  double* a = filled(count, 1);
  double* b = filled(count, 2);
  double* c = filled(count, 3);
  for (size_t i = 0; i < count; ++i) c[i] = NAN;  // beta is 0, so these must not be read

  int right = multiplies(n, n, n, a, n, b, n, 0.0, c, n);
  verdict("beta 0 over NaN", right);
  right = 1;
  for (int round = 0; round < rounds; ++round) {
    a[round] += 1.0;
    right &= multiplies(n, n, n, a, n, b, n, 0.5, c, n);
  }
  verdict("repeated products", right);
  verdict("square of one matrix", multiplies(n, n, n, a, n, a, n, 1.0, c, n));
  free(a);
  free(b);
  free(c);
  return scenario_status();
}
