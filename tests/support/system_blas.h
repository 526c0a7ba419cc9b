// The system's BLAS, opened in addition to the BLAS with which the test program is linked.
#pragma once

#include <dlfcn.h>
#include <glob.h>

#include <string>

namespace blastoff::test {

/// netlib's reference if it is installed (Debian's libblas3), else any libblas; nullptr if the machine has none.
inline void* system_blas() {
  static void* const handle = [] {
    void* found = nullptr;
    glob_t paths{};
    if (glob("/usr/lib/*/blas/libblas.so.3", 0, nullptr, &paths) == 0) {
      found = dlopen(paths.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
    }
    globfree(&paths);
    return found != nullptr ? found : dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}

/// nullptr if that library lacks the routine.
inline void* system_blas_function(const std::string& symbol) {
  return system_blas() != nullptr ? dlsym(system_blas(), symbol.c_str()) : nullptr;
}

}  // namespace blastoff::test
