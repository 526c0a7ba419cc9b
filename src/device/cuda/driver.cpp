#include "device/cuda/libraries.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "blas/types.h"
#include "device/cuda/search_path.h"

namespace blastoff::device::cuda {
namespace {

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

/// Sets `function` to the symbol; remembers the first one missing.
template <class Function>
void resolve(void* library, const char* symbol, Function*& function, const char*& missing) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  if (function == nullptr && missing == nullptr) missing = symbol;
}

std::string loader_message() {
  const char* message = dlerror();
  return message == nullptr ? "unknown error" : message;
}

/// One version of cuBLAS, as a file name.
std::string file_name(std::string_view library, int version) {
  return fmt::format("{}.so.{}", library, version);
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

/// What the search has seen, for the error message.
struct Search {
  std::vector<int> versions;
  std::vector<std::string> failures;  // what the loader said about files that exist

  /// From a directory, cublasLt first: cublas finds it by its name then, whatever its own run path says.
  void* open_in(const std::string& directory) {
    for (const int version : versions) {
      const auto path = directory + "/" + file_name("libcublas", version);
      if (!exists(path)) continue;
      dlopen((directory + "/" + file_name("libcublasLt", version)).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
      failures.push_back(loader_message());
    }
    return nullptr;
  }

  void* open_by_name(int extra_flags) {
    for (const int version : versions) {
      if (void* library = dlopen(file_name("libcublas", version).c_str(), RTLD_NOW | RTLD_LOCAL | extra_flags))
        return library;
    }
    return nullptr;
  }

  void* open_in_any(const std::vector<std::string>& directories) {
    for (const auto& directory : directories) {
      if (void* library = open_in(directory)) return library;
    }
    return nullptr;
  }
};

Error not_found(const Search& search, const std::string& cuda_path, const std::vector<std::string>& directories) {
  if (!search.failures.empty())
    return unavailable(fmt::format("cuBLAS cannot be loaded: {}", fmt::join(search.failures, "; ")));
  const bool any = search.versions.size() > 1;
  return unavailable(fmt::format(
      "cuBLAS not found: no {} in {}the library search path{}{}; install the CUDA toolkit or `pip install {}`, or name "
      "its "
      "directory with BLASTOFF_CUDA_PATH",
      any ? "libcublas.so.13 or libcublas.so.12" : "libcublas.so.12", cuda_path.empty() ? "" : cuda_path + ", ",
      directories.empty() ? "" : ", ", fmt::join(directories, ", "), any ? "nvidia-cublas" : "nvidia-cublas-cu12"));
}

std::string path_of(void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "libcublas";
}

/// Where the driver is put beside the loader's search path: by container runtimes, in Windows' Linux, in NixOS.
constexpr const char* driver_files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"};

void* open_driver(std::string& message) {
  for (const char* file : driver_files) {
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
    const auto failure = loader_message();
    // A driver that is there and does not load tells more than the absence of the others.
    if (message.empty() || exists(file)) message = failure;
  }
  return nullptr;
}

}  // namespace

Result<api::Driver> load_driver() {
  std::string message;
  void* library = open_driver(message);
  if (library == nullptr) {
    return tl::unexpected(
        unavailable(fmt::format("no NVIDIA driver here ({}); in a container, start it with GPU access", message)));
  }
  api::Driver driver;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, driver.symbol, missing);
  BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  const char* too_new = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, driver.symbol, too_new);
  BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return driver;
  return tl::unexpected(
      unavailable(fmt::format("the NVIDIA driver is too old: libcuda.so.1 lacks {}; 525 or newer is needed", missing)));
}

Result<api::Cublas> load_cublas(const std::string& cuda_path, int driver_version) {
  Search search;
  if (driver_version >= 13000)
    search.versions = {13, 12};
  else
    search.versions = {12};
  std::vector<std::string> directories;
  void* library = search.open_in_any(library_directories(cuda_path));
  if (library == nullptr) library = search.open_by_name(RTLD_NOLOAD);
  if (library == nullptr) library = search.open_by_name(0);
  if (library == nullptr) {
    directories = default_directories();
    library = search.open_in_any(directories);
  }
  if (library == nullptr) return tl::unexpected(not_found(search, cuda_path, directories));

  api::Cublas cublas;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, cublas.symbol, missing);
  BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
#define BLASTOFF_RESOLVE(symbol, member, scalar, signature) \
  resolve(library, #symbol, cublas.member[static_cast<std::size_t>(blas::Scalar::scalar)], missing);
  BLASTOFF_CUBLAS_ROUTINES(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return cublas;
  return tl::unexpected(unavailable(
      fmt::format("{} lacks {}: cuBLAS 12.0 or newer is needed", path_of(dlsym(library, "cublasCreate_v2")), missing)));
}

}  // namespace blastoff::device::cuda
