// Finds one of NVIDIA's libraries and its functions.
#pragma once

#include <string>
#include <vector>

#include <dlfcn.h>

#include "device/error.h"

namespace blastoff::device::gpu::cuda {

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

/// What a library is called for a driver of this version, as cuDriverGetVersion gives it: 12040 for CUDA 12.4. A newer
/// driver runs the releases of CUDA 13 and of CUDA 12.
LibraryFile file_for(int driver_version, const char* title, const char* name, LibraryRelease of_cuda_13,
                     const char* package_of_cuda_13, LibraryRelease of_cuda_12, const char* package_of_cuda_12);

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

/// For a list of symbols, where `library`, `functions` and `missing` are those of load_functions().
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, functions.symbol, missing);
/// For a list of symbols of which there is one for each type.
#define BLASTOFF_RESOLVE_TYPE(symbol, member, scalar, signature) \
  resolve(library, #symbol, functions.member[static_cast<std::size_t>(blas::Scalar::scalar)], missing);

/// The error of an opened library that lacks a function. `known`: a function that it has. `needed`: "cuFFT 11.0".
Error too_old(void* library, const char* known, const char* missing, const char* needed);

/// Opens a library and finds its functions: `find` is called with the library, the table `Functions`, and what
/// resolve() takes as `missing`. `known`, `needed`: see too_old().
template <class Functions, class Find>
Result<Functions> load_functions(const LibraryFile& file, const std::string& cuda_path, const char* known,
                                 const char* needed, const Find& find) {
  const auto opened = open_library(file, cuda_path);
  if (!opened) return tl::unexpected(opened.error());
  Functions functions;
  const char* missing = nullptr;
  find(*opened, functions, missing);
  if (missing == nullptr) return functions;
  return tl::unexpected(too_old(*opened, known, missing, needed));
}

/// "cuBLAS 13.0.2", by the library's function that tells one number of its version.
std::string version_text(const char* title, int (*number)(int which, int* value));

}  // namespace blastoff::device::gpu::cuda
