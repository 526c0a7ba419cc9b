#include "launcher/path.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace blastoff::launcher {

namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using Allocated = std::unique_ptr<char, Free>;

}  // namespace

bool can_be_absolute(const std::string& path) {
  return path.starts_with('/') || Allocated(getcwd(nullptr, 0)) != nullptr;
}

std::string absolute(const std::string& path) {
  std::string from_root = path;
  if (!path.starts_with('/')) {
    const Allocated here(getcwd(nullptr, 0));
    from_root = path_of(here ? here.get() : "/", path);
  }
  std::string result;
  std::string_view rest = from_root;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (!part.empty() && part != ".") result.append("/").append(part);
  }
  return result.empty() ? "/" : result;
}

std::string resolved(const std::string& path) {
  const Allocated real(realpath(path.c_str(), nullptr));
  return real ? real.get() : "";
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string path_of(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!path.empty() && !path.ends_with('/')) path += '/';
  return path.append(name);
}

}  // namespace blastoff::launcher
