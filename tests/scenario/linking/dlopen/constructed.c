// A program with a library that loads a plugin before main().
#include <dlfcn.h>

#include "product.h"

int constructor_found(void);

int main(int argc, char** argv) {
  verdict("the library's plugin", argc == 2 && constructor_found());
  void* const handle = dlopen(argv[1], RTLD_NOLOAD | RTLD_LAZY);
  int (*run)(void) = handle ? (int (*)(void))dlsym(handle, "plugin_run") : NULL;
  verdict_of("its products", run ? run() : 0);
  return scenario_status();
}
