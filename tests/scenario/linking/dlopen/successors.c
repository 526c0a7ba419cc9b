// A program that opens plugins one after the other, each at the address of the previous one and from the same path, or,
// if PATH is "-", from its own path. Usage: successors HOW PATH FILE... HOW: "plain"; "by the C library": closed by the
// function that dlsym() finds in libc; "namespace": opened by dlmopen().
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#include "product.h"

typedef int Function(void);

static Function* function(void* handle, const char* name) {
  Function* const found = (Function*)dlsym(handle, name);
  if (found == NULL) exit(98);
  return found;
}

static void put(const char* file, const char* path) {
  unlink(path);
  if (link(file, path) != 0) exit(97);
}

static void* opened(const char* how, const char* path) {
  void* const handle = strcmp(how, "namespace") == 0 ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL)
                                                     : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(96);
  }
  return handle;
}

static void close_it(const char* how, void* handle) {
  int (*close)(void*) = dlclose;
  if (strcmp(how, "by the C library") == 0)
    close = (int (*)(void*))dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "dlclose");
  verdict("closing", close != NULL && close(handle) == 0);
}

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  const char* const how = argv[1];
  const int from_own_path = strcmp(argv[2], "-") == 0;
  for (int i = 3; i < argc; ++i) {
    const char* const path = from_own_path ? argv[i] : argv[2];
    if (!from_own_path) put(argv[i], path);
    void* const handle = opened(how, path);
    printf("version %d\n", function(handle, "plugin_version")());
    verdict_of("its products", function(handle, "plugin_run")());
    verdict("its state, which is new", function(handle, "plugin_runs")() == 1);
    verdict("its own BLAS", function(handle, "plugin_reached_its_blas")());
    close_it(how, handle);
    verdict("nothing is left of it", dlopen(path, RTLD_LAZY | RTLD_NOLOAD) == NULL);
  }
  return scenario_status();
}
