// A library that loads the plugin PLUGIN before main().
#include <dlfcn.h>
#include <stddef.h>

int constructor_found(void);

static void* handle;

__attribute__((constructor)) static void load(void) {
  handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
}

int constructor_found(void) {
  return handle != NULL;
}
