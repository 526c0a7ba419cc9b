// Whether this process runs under Valgrind.
#pragma once

#include <cstdlib>
#include <cstring>

namespace blastoff::platform {

/// Valgrind preloads libraries of its own. It runs one thread at a time, even where that thread waits in munmap().
inline bool under_valgrind() {
  const char* const preloaded = secure_getenv("LD_PRELOAD");
  return preloaded != nullptr && std::strstr(preloaded, "/vgpreload_") != nullptr;
}

}  // namespace blastoff::platform
