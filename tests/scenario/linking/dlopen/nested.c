// A plugin that loads another, PLUGIN, and passes calls on to it.
#include <dlfcn.h>
#include <stddef.h>

int plugin_run(void);

int plugin_run(void) {
  void* const handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  int (*run)(void) = handle ? (int (*)(void))dlsym(handle, "plugin_run") : NULL;
  return run ? run() : 0;
}
