// Finding one of NVIDIA's libraries and its functions.
#pragma once

#include <string>
#include <vector>

#include <dlfcn.h>

#include "device/error.h"

namespace blastoff::device::cuda {

struct LibraryRelease {
  int version;                     ///< in the file's name
  std::vector<const char*> needs;  ///< files of the same directory that it finds by their names, each before its users
};

/// A library as it is looked for, and as messages name it.
struct LibraryFile {
  const char* title;                     ///< "cuBLAS"
  const char* name;                      ///< "libcublas"
  std::vector<LibraryRelease> releases;  ///< those to be tried, the best first
  const char* package;                   ///< the wheel that has it
};

/// Opens it, from `cuda_path`, what the program has loaded already, the loader's search path, or the places in
/// search_path.h. It stays loaded for good. The error says in one line where it was looked for and what to do.
Result<void*> open_library(const LibraryFile& file, const std::string& cuda_path);

/// What dlopen said last.
std::string loader_message();

bool exists(const std::string& path);

/// The file that a symbol of an opened library lies in; `otherwise` where that is unknown.
std::string path_of(void* symbol, const char* otherwise);

/// Sets `function` to the symbol; remembers the first one missing.
template <class Function>
void resolve(void* library, const char* symbol, Function*& function, const char*& missing) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (function == nullptr && missing == nullptr) missing = symbol;
}

}  // namespace blastoff::device::cuda
