// Finds one of NVIDIA's libraries and its functions.
#pragma once

#include <string>
#include <vector>

#include <dlfcn.h>

#include "device/error.h"

namespace blastoff::device::cuda {

struct LibraryRelease {
  int version;                     ///< in the file's name
  std::vector<const char*> needs;  ///< files of the same directory that it needs, in the order of loading
};

/// Names of a library: for the search and for messages.
struct LibraryFile {
  const char* title;                     ///< "cuBLAS"
  const char* name;                      ///< "libcublas"
  std::vector<LibraryRelease> releases;  ///< to be tried in this order
  const char* package;                   ///< the Python wheel that contains it
};

/// Opens the library: from `cuda_path`, as the program has loaded it already, from the loader's search path, or from
/// the places in search_path.h. It stays loaded for good. The error is one line: where it was looked for, and what to
/// do.
Result<void*> open_library(const LibraryFile& file, const std::string& cuda_path);

/// The latest message of dlopen.
std::string loader_message();

bool exists(const std::string& path);

/// The file that contains a symbol of an opened library; `otherwise` if that is unknown.
std::string path_of(void* symbol, const char* otherwise);

/// Sets `function` to the symbol. `missing` becomes the first symbol that is missing.
template <class Function>
void resolve(void* library, const char* symbol, Function*& function, const char*& missing) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (function == nullptr && missing == nullptr) missing = symbol;
}

}  // namespace blastoff::device::cuda
