#include "intercept/loading/caller_search.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "intercept/front_ends.h"
#include "intercept/loaded_objects.h"
#include "intercept/patch/architecture.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {
namespace {

/// Returns the directories that the dynamic linker searches for an object, in order, without those of its cache.
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

/// The directories that the caller and this library each search first. The directories that both search last are left
/// out.
struct Searched {
  std::vector<std::string> for_caller;
  std::vector<std::string> for_us;
};

Searched searched_first(const void* caller) {
  Searched first{search_path(ObjectHandle::of(caller)), search_path(ObjectHandle::of(front_ends().data()))};
  while (!first.for_caller.empty() && !first.for_us.empty() && first.for_caller.back() == first.for_us.back()) {
    first.for_caller.pop_back();
    first.for_us.pop_back();
  }
  return first;
}

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

bool can_be_loaded(const std::string& path) {
  const auto file = ObjectFile::open(path.c_str());
  return file && file->machine() == patch::native_machine && file->linkage() == Linkage::shared_object;
}

/// Returns the first directory that contains `file`, or that may contain it for certain processors; nullptr if none
/// does.
const std::string* directory_with(const char* file, const std::vector<std::string>& directories) {
  const auto has_something = [&](const std::string& directory) {
    return exists(directory + "/" + file) || exists(directory + "/glibc-hwcaps");
  };
  const auto found = std::find_if(directories.begin(), directories.end(), has_something);
  return found == directories.end() ? nullptr : &*found;
}

/// Whether an object of the program's namespace has that name. Then dlopen() returns that object, wherever its file is.
bool is_loaded(const char* file) {
  const std::vector<LoadedObject> objects = loaded_objects();
  return std::any_of(objects.begin(), objects.end(),
                     [&](const LoadedObject& object) { return object.has_soname && object.name == file; });
}

std::optional<std::string> search_for(const void* caller, const char* file, long space) {
  if (space == LM_ID_BASE && is_loaded(file)) return file;
  const Searched first = searched_first(caller);
  if (const std::string* const directory = directory_with(file, first.for_caller)) {
    std::string path = *directory + "/" + file;
    const bool certain = can_be_loaded(path) && !exists(*directory + "/glibc-hwcaps");
    return certain ? std::optional(std::move(path)) : std::nullopt;
  }
  // The program's DT_RPATH applies to our library, but not to a caller with a DT_RUNPATH.
  return directory_with(file, first.for_us) == nullptr ? std::optional<std::string>(file) : std::nullopt;
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

bool continues_a_name(char next) {
  return std::isalnum(static_cast<unsigned char>(next)) != 0 || next == '_';
}

std::string with_origin_of(const void* caller, const char* file) {
  constexpr std::string_view bare = "$ORIGIN", braced = "${ORIGIN}";
  const std::string origin = origin_of(caller);
  std::string text;
  for (std::string_view rest = file; !rest.empty();) {
    const bool is_bare = rest.starts_with(bare) && !(rest.size() > bare.size() && continues_a_name(rest[bare.size()]));
    if (is_bare || rest.starts_with(braced)) {
      text += origin;
      rest.remove_prefix(is_bare ? bare.size() : braced.size());
    } else {
      text += rest.front();
      rest.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> as_meant_by(const void* caller, const char* file, long space) {
  if (std::strstr(file, "ORIGIN") != nullptr) return with_origin_of(caller, file);
  return std::strchr(file, '/') != nullptr ? std::optional<std::string>(file) : search_for(caller, file, space);
}

}  // namespace blastoff::intercept
