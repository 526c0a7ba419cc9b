// A program that loads its BLAS, or a plugin linked with one, while it runs.
// Usage: host HOW FILE...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "product.h"

static void* need(void* found) {
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(98);
  }
  return found;
}

static void run_plugin(void* handle) {
  int (*run)(void) = (int (*)(void))need(dlsym(need(handle), "plugin_run"));
  verdict_of("a plugin's products", run());
}

/// Loads a plugin with flags such as RTLD_LOCAL.
static void with_flags(int flags, const char* file) {
  run_plugin(dlopen(file, RTLD_NOW | flags));
}

static void in_namespace(const char* file) {
  run_plugin(dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL));
}

static void by_handle(const char* file) {
  void* const handle = need(dlopen(file, RTLD_NOW | RTLD_LOCAL));
  verdict_of("products by a handle", right_products((Gemm*)need(dlsym(handle, "dgemm_"))));
}

/// Loads the library globally, and looks its function up in the global scope.
static void by_default_handle(const char* file) {
  need(dlopen(file, RTLD_LAZY | RTLD_GLOBAL));
  verdict_of("products by the global scope", right_products((Gemm*)need(dlsym(RTLD_DEFAULT, "dgemm_"))));
}

static void again(const char* file) {
  for (int round = 0; round < 3; ++round) {
    void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    run_plugin(handle);
    verdict("closing", dlclose(handle) == 0);
  }
}

static void in_child(const char* file) {
  const pid_t child = fork();
  if (child == 0) {
    with_flags(RTLD_LOCAL, file);
    _exit(scenario_status());
  }
  int status = -1;
  verdict("the child", waitpid(child, &status, 0) == child && status == 0);
  with_flags(RTLD_LOCAL, file);
}

/// The parent has loaded the plugin, and the child loads another one.
static void before_child(const char* file, const char* other) {
  with_flags(RTLD_LOCAL, file);
  in_child(other);
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char *const how = argv[1], *const file = argv[2];
  if (strcmp(how, "local") == 0) with_flags(RTLD_LOCAL, file);
  if (strcmp(how, "global") == 0) with_flags(RTLD_GLOBAL, file);
  if (strcmp(how, "deep") == 0) with_flags(RTLD_DEEPBIND, file);
  if (strcmp(how, "never unloaded") == 0) with_flags(RTLD_NODELETE, file);
  if (strcmp(how, "namespace") == 0) in_namespace(file);
  if (strcmp(how, "handle") == 0) by_handle(file);
  if (strcmp(how, "default handle") == 0) by_default_handle(file);
  if (strcmp(how, "again") == 0) again(file);
  if (strcmp(how, "child") == 0) in_child(file);
  if (strcmp(how, "before child") == 0) before_child(file, argv[3]);
  if (strcmp(how, "exec") == 0) execl("/proc/self/exe", argv[0], "local", file, NULL);
  return scenario_status();
}
