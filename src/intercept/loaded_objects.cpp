#include "intercept/loaded_objects.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "platform/caller.h"
#include "platform/contained.h"
#include "platform/fork_guard.h"

// The linker sets these symbols to the begin and end of this library.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start;  // NOLINT(bugprone-reserved-identifier)
[[gnu::visibility("hidden")]] extern const char _end;          // NOLINT(bugprone-reserved-identifier)
}

namespace blastoff::intercept {

using platform::ForkGuard;

namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

void read_names(const ElfW(Dyn) * dynamic, LoadedObject& object) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  if (strings == nullptr) return;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED) object.needed.emplace_back(strings + entry->d_un.d_val);
    if (entry->d_tag != DT_SONAME) continue;
    object.name = strings + entry->d_un.d_val;
    object.has_soname = true;
  }
}

ObjectIdentity identity_of(const char* path, std::uintptr_t bias, std::span<const ElfW(Phdr)> headers) {
  ObjectIdentity object;
  object.path = path;
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = bias + header.p_vaddr;
    object.begin = std::min(object.begin, begin);
    object.end = std::max(object.end, begin + header.p_memsz);
  }
  return object;
}

LoadedObject describe(const ObjectIdentity& identity, std::uintptr_t bias, std::span<const ElfW(Phdr)> headers) {
  LoadedObject object;
  object.path = identity.path;
  object.name = base_name(object.path);
  object.bias = bias;
  object.begin = identity.begin;
  object.end = identity.end;
  for (const ElfW(Phdr) & header : headers)
    if (header.p_type == PT_DYNAMIC) read_names(reinterpret_cast<const ElfW(Dyn)*>(bias + header.p_vaddr), object);
  return object;
}

/// The kernel's vdso has no file, and the addresses in its dynamic section are not relocated.
bool is_vdso(const char* path) {
  return std::strncmp(path, "linux-vdso", 10) == 0;
}

struct Collection {
  std::optional<std::span<const std::uintptr_t>> biases;  ///< nullopt: any
  std::vector<LoadedObject> objects;
  bool complete = true;
};

/// Runs under the dynamic linker's lock: nothing here may call the linker, and no exception may pass it.
int collect(dl_phdr_info* info, std::size_t, void* result) {
  auto& collection = *static_cast<Collection*>(result);
  const bool wanted =
      !collection.biases || std::ranges::find(*collection.biases, info->dlpi_addr) != collection.biases->end();
  if (!wanted || is_vdso(info->dlpi_name)) return 0;
  collection.complete = platform::contained([&] {
    collection.objects.push_back(describe(identify(*info), info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}));
  });
  return collection.complete ? 0 : 1;
}

std::vector<LoadedObject> collected(Collection collection) {
  const ForkGuard guard;
  dl_iterate_phdr(collect, &collection);
  if (!collection.complete) throw std::bad_alloc();
  return std::move(collection.objects);
}

int read_counts(dl_phdr_info* info, std::size_t, void* result) {
  *static_cast<LinkerCounts*>(result) = {info->dlpi_adds, info->dlpi_subs};
  return 1;
}

/// Whether a DT_NEEDED entry means the object. The entry may be a path; the object is known by its DT_SONAME.
bool means(std::string_view needed, const LoadedObject& object) {
  return base_name(needed) == object.name || needed == object.path || base_name(needed) == base_name(object.path);
}

}  // namespace

ObjectIdentity identify(const dl_phdr_info& listed) {
  return identity_of(listed.dlpi_name, listed.dlpi_addr, {listed.dlpi_phdr, listed.dlpi_phnum});
}

std::vector<LoadedObject> loaded_objects() {
  return collected({});
}

std::vector<LoadedObject> objects_with_bias(std::span<const std::uintptr_t> biases) {
  return collected({.biases = biases, .objects = {}});
}

std::vector<LoadedObject> objects_beside(void* handle) {
  const ForkGuard guard;
  std::vector<LoadedObject> objects;
  link_map* map = nullptr;
  Lmid_t space = LM_ID_BASE;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || dlinfo(handle, RTLD_DI_LMID, &space) != 0) return objects;
  while (map->l_prev != nullptr) map = map->l_prev;
  for (; map != nullptr; map = map->l_next) {
    // The dynamic linker itself is in every namespace, and in the program's.
    if (is_vdso(map->l_name) || map->l_addr == 0) continue;
    const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(map->l_addr);
    const std::span headers(reinterpret_cast<const ElfW(Phdr)*>(map->l_addr + header->e_phoff), header->e_phnum);
    objects.push_back(describe(identity_of(map->l_name, map->l_addr, headers), map->l_addr, headers));
    objects.back().space = space;
  }
  return objects;
}

LinkerCounts linker_counts() {
  const ForkGuard guard;
  LinkerCounts counts;
  dl_iterate_phdr(read_counts, &counts);
  return counts;
}

std::optional<LoadedObject> object_of(const void* address) {
  for (const LoadedObject& object : loaded_objects())
    if (object.contains(address)) return object;
  return std::nullopt;
}

bool depends_on(const std::vector<LoadedObject>& objects, const LoadedObject& object, std::string_view name) {
  std::vector<const LoadedObject*> reached{&object};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::string& needed : reached[i]->needed) {
      for (const LoadedObject& candidate : objects) {
        if (!means(needed, candidate)) continue;
        if (candidate.name == name) return true;
        if (std::find(reached.begin(), reached.end(), &candidate) == reached.end()) reached.push_back(&candidate);
        break;
      }
    }
  }
  return false;
}

const char* path_of(const void* address) {
  // dladdr() searches all symbols of the object, too.
  const auto* const record = static_cast<const link_map*>(platform::object_record(address));
  if (record != nullptr && *record->l_name != '\0') return record->l_name;
  const ForkGuard guard;
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
}

const char* file_of(const LoadedObject& object) {
  return object.path.empty() ? "/proc/self/exe" : object.path.c_str();
}

bool same_object(const void* left, const void* right) {
  const ForkGuard guard;
  Dl_info left_info;
  Dl_info right_info;
  return dladdr(left, &left_info) != 0 && dladdr(right, &right_info) != 0 &&
         left_info.dli_fbase == right_info.dli_fbase;
}

bool in_own_object(const void* address) {
  return &__ehdr_start <= address && address < &_end;
}

ObjectHandle::ObjectHandle(const char* path) : handle_(nullptr) {
  if (path == nullptr) return;
  const ForkGuard guard;
  handle_ = dlopen(*path == '\0' ? nullptr : path, RTLD_NOLOAD | RTLD_LAZY);
}

ObjectHandle ObjectHandle::of(const void* address) {
  const ForkGuard guard;
  Dl_info info;
  void* map = nullptr;
  // The main program's path is the name with which it was started; the dynamic linker's own record of it is empty.
  if (dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return ObjectHandle(nullptr);
  return ObjectHandle(static_cast<const link_map*>(map)->l_name);
}

ObjectHandle::~ObjectHandle() {
  const ForkGuard guard;
  if (handle_ != nullptr) dlclose(handle_);
}

void* ObjectHandle::find(const char* symbol) const {
  const ForkGuard guard;
  return handle_ != nullptr ? dlsym(handle_, symbol) : nullptr;
}

void keep_loaded(const void* address) {
  const ForkGuard guard;
  const char* const path = path_of(address);
  // (The main program is found by no path, and stays anyway.)
  void* const handle = path != nullptr ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE) : nullptr;
  if (handle != nullptr) dlclose(handle);
}

}  // namespace blastoff::intercept
