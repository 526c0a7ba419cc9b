#include "device/gpu/cuda/library_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/gpu/cuda/cublas/api.h"
#include "device/gpu/cuda/search_path.h"
#include "platform/failure.h"

namespace blastoff::device::gpu::cuda {
namespace {

std::string file_name(const LibraryFile& file, const LibraryRelease& release) {
  return fmt::format("{}.so.{}", file.name, release.version);
}

class Search {
 public:
  explicit Search(const LibraryFile& file) : file_(file) {}

  /// The loader's messages about files that exist.
  const std::vector<std::string>& failures() const { return failures_; }

  void* open_by_name(int extra_flags) {
    for (const LibraryRelease& release : file_.releases)
      if (void* library = dlopen(file_name(file_, release).c_str(), RTLD_NOW | RTLD_LOCAL | extra_flags))
        return library;
    return nullptr;
  }

  void* open_in_any(const std::vector<std::string>& directories) {
    for (const auto& directory : directories)
      if (void* library = open_in(directory)) return library;
    return nullptr;
  }

 private:
  /// Opens the files that the library needs first. The loader then finds them by name, whatever the library's run path
  /// is.
  void* open_in(const std::string& directory) {
    for (const LibraryRelease& release : file_.releases) {
      const auto path = directory + "/" + file_name(file_, release);
      if (!exists(path)) continue;
      for (const char* needed : release.needs) dlopen((directory + "/" + needed).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
      failures_.push_back(loader_message());
    }
    return nullptr;
  }

  const LibraryFile& file_;
  std::vector<std::string> failures_;
};

std::string not_found(const LibraryFile& file, const std::string& cuda_path,
                      const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const LibraryRelease& release : file.releases) names.push_back(file_name(file, release));
  return fmt::format(
      "{} not found: no {} in {}the library search path{}{}; install the CUDA toolkit or `pip install {}`, or name its "
      "directory with BLASTOFF_CUDA_PATH",
      file.title, fmt::join(names, " or "), cuda_path.empty() ? "" : cuda_path + ", ", directories.empty() ? "" : ", ",
      fmt::join(directories, ", "), file.package);
}

}  // namespace

LibraryFile file_for(int driver_version, const char* title, const char* name, LibraryRelease of_cuda_13,
                     const char* package_of_cuda_13, LibraryRelease of_cuda_12, const char* package_of_cuda_12) {
  if (driver_version < 13000) return {title, name, {std::move(of_cuda_12)}, package_of_cuda_12};
  return {title, name, {std::move(of_cuda_13), std::move(of_cuda_12)}, package_of_cuda_13};
}

Result<void*> open_library(const LibraryFile& file, const std::string& cuda_path) {
  Search search(file);
  void* library = search.open_in_any(library_directories(cuda_path));
  if (library == nullptr) library = search.open_by_name(RTLD_NOLOAD);
  if (library == nullptr) library = search.open_by_name(0);
  if (library != nullptr) return library;
  const std::vector<std::string> directories = default_directories();
  library = search.open_in_any(directories);
  if (library != nullptr) return library;
  const std::string lack = platform::lack_of_descriptors();
  std::string message = !lack.empty() ? fmt::format("{} cannot be loaded: {}", file.title, lack)
                        : search.failures().empty()
                            ? not_found(file, cuda_path, directories)
                            : fmt::format("{} cannot be loaded: {}", file.title, fmt::join(search.failures(), "; "));
  return tl::unexpected(Error{ErrorKind::unavailable, std::move(message)});
}

std::string loader_message() {
  const char* message = dlerror();
  return message == nullptr ? "unknown error" : message;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string path_of(void* symbol, const char* otherwise) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : otherwise;
}

Error too_old(void* library, const char* known, const char* missing, const char* needed) {
  return {ErrorKind::unavailable, fmt::format("{} lacks {}: {} or newer is needed",
                                              path_of(dlsym(library, known), "the library"), missing, needed)};
}

std::string version_text(const char* title, int (*number)(int which, int* value)) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  number(api::property_major, &major);
  number(api::property_minor, &minor);
  number(api::property_patch, &patch);
  return fmt::format("{} {}.{}.{}", title, major, minor, patch);
}

}  // namespace blastoff::device::gpu::cuda
