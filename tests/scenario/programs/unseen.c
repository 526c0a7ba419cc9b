// A program that imports a function that Blastoff does not take. Arguments: numbers of products, and of calls of the
// function.
#include "scenario.h"

long pardiso(void* handle, double* values);

int main(int argc, char** argv) {
  const int n = 200;
  if (argc < 3) return 2;
  double* const a = filled((size_t)n * n, 1);
  double* const c = filled((size_t)n * n, 2);
  for (int i = 0; i < atoi(argv[1]); ++i) multiply(n, n, n, a, n, a, n, 0, c, n);
  for (int i = 0; i < atoi(argv[2]); ++i) verdict("the solve", pardiso(a, c) == 0);
  return scenario_status();
}
