#include "intercept/loading/caller_search.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "intercept/entry_points.h"
#include "intercept/loaded_objects.h"
#include "intercept/patch/architecture.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {
namespace {

/// The directories that the dynamic linker searches for an object, in order (the cache of default ones is not among
/// them).
std::vector<std::string> search_path(const ObjectHandle& object) {
  std::vector<std::string> directories;
  Dl_serinfo size{};
  if (!object || dlinfo(object.get(), RTLD_DI_SERINFOSIZE, &size) != 0) return directories;
  const std::unique_ptr<char[]> memory(new char[size.dls_size]);
  auto* const info = new (memory.get()) Dl_serinfo(size);
  if (dlinfo(object.get(), RTLD_DI_SERINFOSIZE, info) != 0 || dlinfo(object.get(), RTLD_DI_SERINFO, info) != 0)
    return directories;
  for (unsigned i = 0; i < info->dls_cnt; ++i) directories.emplace_back(info->dls_serpath[i].dls_name);
  return directories;
}

/// Without what both search last: the dynamic linker goes through that whoever calls.
std::vector<std::string> searched_for_the_caller_only(std::vector<std::string> callers, std::vector<std::string> ours) {
  while (!callers.empty() && !ours.empty() && callers.back() == ours.back()) {
    callers.pop_back();
    ours.pop_back();
  }
  return callers;
}

bool can_be_loaded(const std::string& path) {
  const auto file = ObjectFile::open(path.c_str());
  return file && file->machine() == patch::native_machine && file->linkage() == Linkage::shared_object;
}

bool is_loaded(const char* file) {
  void* const handle = dlopen(file, RTLD_NOLOAD | RTLD_LAZY);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

std::string search_for(const void* caller, const char* file) {
  // An object of that name which is there already is meant, wherever it came from.
  if (is_loaded(file)) return file;
  const auto directories = searched_for_the_caller_only(search_path(ObjectHandle::of(caller)),
                                                        search_path(ObjectHandle::of(&entry_point_table)));
  for (const std::string& directory : directories) {
    std::string path = directory + "/" + file;
    if (can_be_loaded(path)) return path;
  }
  return file;
}

std::string origin_of(const void* caller) {
  Dl_info info;
  void* map = nullptr;
  if (dladdr1(caller, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return ".";
  std::string path = static_cast<const link_map*>(map)->l_name;
  if (path.empty()) {
    char program[4096];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    path.assign(program, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

void replace_all(std::string& text, std::string_view token, const std::string& by) {
  for (std::size_t at = text.find(token); at != std::string::npos; at = text.find(token, at + by.size()))
    text.replace(at, token.size(), by);
}

std::string with_origin_of(const void* caller, const char* file) {
  std::string text = file;
  const std::string origin = origin_of(caller);
  replace_all(text, "${ORIGIN}", origin);
  replace_all(text, "$ORIGIN", origin);
  return text;
}

}  // namespace

std::string as_meant_by(const void* caller, const char* file) {
  if (std::strstr(file, "ORIGIN") != nullptr) return with_origin_of(caller, file);
  return std::strchr(file, '/') != nullptr ? file : search_for(caller, file);
}

}  // namespace blastoff::intercept
