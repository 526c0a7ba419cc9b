// A program without a BLAS that loads plugins with RTLD_LOCAL, each linked with a different BLAS.
// Usage: plugins PLUGIN...
#include <dlfcn.h>

#include "scenario.h"

enum { N = 80, COUNT = N * N };

int main(int argc, char** argv) {
  double* a = filled(COUNT, 1);
  double* b = filled(COUNT, 2);
  double* c = filled(COUNT, 3);
  for (int i = 1; i < argc; ++i) {
    void* handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      fprintf(stderr, "%s\n", dlerror());
      return 98;
    }
    void (*run)(double*, double*, double*, int) =
        (void (*)(double*, double*, double*, int))dlsym(handle, "plugin_multiply");
    const char* (*whose)(void) = (const char* (*)(void))dlsym(handle, "plugin_whose");
    if (!run || !whose) return 97;
    for (int round = 0; round < 3; ++round) {
      a[round] += 1.0;
      run(a, b, c, N);
      verdict("a plugin's product", holds_product(N, N, N, a, N, b, N, 0.0, NULL, c, N));
    }
    printf("computed by %s\n", whose());
  }
  return scenario_status();
}
