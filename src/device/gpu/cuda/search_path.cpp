#include "device/gpu/cuda/search_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <system_error>

#include <glob.h>

namespace blastoff::device::gpu::cuda {
namespace {

namespace fs = std::filesystem;

/// Existing paths that match; within each kind, the highest version number comes first.
std::vector<std::string> expand(const std::string& pattern) {
  glob_t matches{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  std::reverse(paths.begin(), paths.end());
  return paths;
}

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

/// The program's argv[0] if it is a path. In a Python environment it names the environment, unlike /proc/self/exe.
std::string argument_zero() {
  std::ifstream file("/proc/self/cmdline");
  std::string first;
  std::getline(file, first, '\0');
  return first.find('/') == std::string::npos ? "" : first;
}

std::string python_in_path() {
  const auto path = environment("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const auto end = std::min(path.find(':', begin), path.size());
    auto candidate = path.substr(begin, end - begin) + "/python3";
    std::error_code error;
    if (fs::exists(candidate, error)) return candidate;
    begin = end + 1;
  }
  return "";
}

/// The installation prefix that an executable's path implies: /usr for /usr/bin/python3.
std::string prefix_of(const std::string& executable) {
  return executable.empty() ? "" : fs::path(executable).parent_path().parent_path().string();
}

/// Directories of NVIDIA's wheels beneath the prefixes of Python installations.
std::vector<std::string> wheel_directories() {
  std::error_code error;
  const auto python = python_in_path();
  std::vector<std::string> prefixes = {environment("VIRTUAL_ENV"), prefix_of(argument_zero()),
                                       prefix_of(fs::read_symlink("/proc/self/exe", error).string()),
                                       prefix_of(python)};
  if (!python.empty()) prefixes.push_back(prefix_of(fs::canonical(python, error).string()));
  if (const auto home = environment("HOME"); !home.empty()) prefixes.push_back(home + "/.local");
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  std::vector<std::string> directories;
  for (const auto& prefix : prefixes) {
    if (prefix.empty()) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* wheel :
           {"cu13", "cublas", "cusolver", "cufft", "cu12", "nccl", "cublasmp/cu13", "cublasmp/cu12"}) {
        auto found = expand(prefix + "/lib/python3*/" + packages + "/nvidia/" + wheel + "/lib");
        directories.insert(directories.end(), found.begin(), found.end());
      }
    }
  }
  return directories;
}

}  // namespace

std::vector<std::string> library_directories(const std::string& root) {
  std::vector<std::string> directories;
  if (root.empty()) return directories;
  for (const char* below :
       {"", "/lib64", "/lib", "/targets/*/lib", "/nvidia/cu13/lib", "/nvidia/cublas/lib", "/nvidia/cusolver/lib",
        "/nvidia/cufft/lib", "/nvidia/nccl/lib", "/nvidia/cublasmp/*/lib", "/math_libs/lib64", "/comm_libs/nccl/lib"}) {
    auto found = expand(root + below);
    directories.insert(directories.end(), found.begin(), found.end());
  }
  return directories;
}

std::vector<std::string> default_directories() {
  std::vector<std::string> directories;
  const auto append = [&](const std::vector<std::string>& more) {
    for (const auto& directory : more) {
      if (std::find(directories.begin(), directories.end(), directory) == directories.end())
        directories.push_back(directory);
    }
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"})
    append(library_directories(environment(variable)));
  append(library_directories("/usr/local/cuda"));
  for (const auto& toolkit : expand("/usr/local/cuda-*")) append(library_directories(toolkit));
  append(wheel_directories());
  return directories;
}

}  // namespace blastoff::device::gpu::cuda
