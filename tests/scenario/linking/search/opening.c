// Opens each name and prints which library that was. A name may begin with flags: "local:", "loaded:" (RTLD_NOLOAD).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

void opening(int count, char** names);

static int flags_of(const char** name) {
  if (strncmp(*name, "loaded:", 7) != 0) return RTLD_NOW | RTLD_LOCAL;
  *name += 7;
  return RTLD_LAZY | RTLD_NOLOAD;
}

static void tell(const char* name, void* handle) {
  struct link_map* map = NULL;
  const char* (*whose)(void) = (const char* (*)(void))dlsym(handle, "whose");
  dlinfo(handle, RTLD_DI_LINKMAP, &map);
  printf("%s: %s, %s\n", name, map ? map->l_name : "?", whose ? whose() : "?");
}

void opening(int count, char** names) {
  for (int i = 0; i < count; ++i) {
    const char* name = names[i];
    void* const handle = dlopen(name, flags_of(&name));
    if (handle) {
      tell(names[i], handle);
    } else {
      const char* const error = dlerror();
      printf("%s: nothing, %s\n", names[i], error ? error : "no error");
    }
  }
  printf("an error left behind: %s\n", dlerror() ? "yes" : "no");
}
