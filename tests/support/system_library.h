// The system's BLAS and LAPACK, opened in addition to those with which the test program is linked.
#pragma once

#include <dlfcn.h>
#include <glob.h>

#include <string>

namespace blastoff::test {

/// `name`: "blas" or "lapack". netlib's reference if it is installed (Debian's libblas3, liblapack3), else any library
/// of that name; nullptr if the machine has none.
inline void* system_library(const std::string& name) {
  const std::string file = "lib" + name + ".so.3";
  void* found = nullptr;
  glob_t paths{};
  if (glob(("/usr/lib/*/" + name + "/" + file).c_str(), 0, nullptr, &paths) == 0) {
    found = dlopen(paths.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
  }
  globfree(&paths);
  return found != nullptr ? found : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

inline void* system_blas() {
  static void* const handle = system_library("blas");
  return handle;
}

/// nullptr if the library lacks the routine.
inline void* system_blas_function(const std::string& symbol) {
  return system_blas() != nullptr ? dlsym(system_blas(), symbol.c_str()) : nullptr;
}

inline void* system_lapack_function(const std::string& symbol) {
  static void* const handle = system_library("lapack");
  return handle != nullptr ? dlsym(handle, symbol.c_str()) : nullptr;
}

}  // namespace blastoff::test
