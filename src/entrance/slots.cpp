// Finds the functions of the C library by name when the library is loaded.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>

#include <cstdint>

#include "entrance/entrance.h"

// Before glibc 2.34, dlsym() was in a library that not every process had loaded. The C library can open that library.
#pragma weak __real_dlsym
#pragma weak __libc_dlopen_mode
#pragma weak __libc_dlsym

#pragma GCC visibility push(default)
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __real_dlsym(void* handle, const char* name);
void* __libc_dlopen_mode(const char* file, int mode);
void* __libc_dlsym(void* handle, const char* name);
// NOLINTEND(bugprone-reserved-identifier)
}
#pragma GCC visibility pop

// From the lists: the name and version of each function, and its slot.
#pragma GCC visibility push(hidden)
extern "C" {
extern const char blastoff_imports[], blastoff_imports_end[];
extern void *blastoff_slots[], *blastoff_slots_end[];
}
#pragma GCC visibility pop

namespace blastoff::entrance {
namespace {

constexpr int oldest_minor_version = 28;
constexpr int first_version_of_one_piece = 34;  // before it, threads and dlopen() were in libraries of their own

/// Returns N of "2.N"; -1: not a version of glibc 2.
int minor_version(const char* text) {
  if (text[0] != '2' || text[1] != '.') return -1;
  int minor = 0;
  for (const char* digit = text + 2; '0' <= *digit && *digit <= '9'; ++digit) minor = 10 * minor + (*digit - '0');
  return minor;
}

class CLibrary {
 public:
  explicit CLibrary(const DynamicLinker& linker) : dlsym_(linker.dlsym) {
    linker.find(dlvsym_, "dlvsym");
    linker.find(dlopen_, "dlopen");
    linker.find(dlerror_, "dlerror");
    decltype(&gnu_get_libc_version) version = nullptr;
    linker.find(version, "gnu_get_libc_version");
    if (version != nullptr) minor_version_ = minor_version(version());
  }

  /// A library that only imitates glibc (gcompat on musl) ignores versions: it finds the name under any version.
  bool is_supported() const {
    return minor_version_ >= oldest_minor_version && dlvsym_ != nullptr && dlopen_ != nullptr && dlerror_ != nullptr &&
           dlvsym_(RTLD_DEFAULT, "gnu_get_libc_version", "GLIBC_0") == nullptr;
  }

  /// Finds a function in its default version, which a program that is linked on this machine gets. If there is none,
  /// `version` is tried: the default version when this library was linked.
  void* find(const char* name, const char* version) {
    if (void* const found = dlsym_(RTLD_DEFAULT, name)) return found;
    if (void* const found = find_in(mathematics_, "libm.so.6", name)) return found;
    if (minor_version_ < first_version_of_one_piece) {
      if (void* const found = find_in(threads_, "libpthread.so.0", name)) return found;
      if (void* const found = find_in(loading_, "libdl.so.2", name)) return found;
    }
    if (void* const found = dlvsym_(RTLD_DEFAULT, name, version)) return found;
    for (std::size_t i = 0; i < blastoff_later_function_count; ++i)
      if (equal(blastoff_later_functions[i].name, name)) return blastoff_later_functions[i].substitute;
    constexpr char c23[] = "__isoc23_";  // since 2.38: strtol() and its like, which also read binary numbers
    return starts_with(name, c23) ? find(name + sizeof c23 - 1, version) : nullptr;
  }

  void forget_errors() const { dlerror_(); }

 private:
  void* find_in(void*& library, const char* file, const char* name) const {
    if (library == nullptr) library = dlopen_(file, RTLD_NOW);
    return library == nullptr ? nullptr : dlsym_(library, name);
  }

  decltype(DynamicLinker::dlsym) dlsym_;
  void* (*dlvsym_)(void*, const char*, const char*) = nullptr;
  void* (*dlopen_)(const char*, int) = nullptr;
  char* (*dlerror_)() = nullptr;
  int minor_version_ = -1;
  void* mathematics_ = nullptr;
  void* threads_ = nullptr;
  void* loading_ = nullptr;
};

/// The slots fill whole pages, which become read-only.
void protect_slots() {
  mprotect(static_cast<void*>(blastoff_slots),
           reinterpret_cast<std::uintptr_t>(blastoff_slots_end) - reinterpret_cast<std::uintptr_t>(blastoff_slots),
           PROT_READ);
}

}  // namespace

void* DynamicLinker::find(const char* name) const {
  void* const found = dlsym(RTLD_NEXT, name);
  return found == nullptr && libdl != nullptr ? dlsym(libdl, name) : found;
}

DynamicLinker dynamic_linker() {
  DynamicLinker linker;
  if (&__real_dlsym != nullptr) {
    linker.dlsym = &__real_dlsym;
  } else if (&__libc_dlopen_mode != nullptr && &__libc_dlsym != nullptr) {
    constexpr int from_a_program = static_cast<int>(0x80000000);
    linker.libdl = __libc_dlopen_mode("libdl.so.2", RTLD_NOW | from_a_program);
    if (linker.libdl != nullptr)
      linker.dlsym = reinterpret_cast<decltype(linker.dlsym)>(__libc_dlsym(linker.libdl, "dlsym"));
  }
  return linker;
}

namespace {

DynamicLinker the_linker;

/// A dlsym() that also finds functions of libdl, which the program has not loaded.
void* next_or_in_library(void* handle, const char* name) {
  void* const found = the_linker.dlsym(handle, name);
  return found == nullptr && handle == RTLD_NEXT ? the_linker.dlsym(the_linker.libdl, name) : found;
}

void* function_for_slot(CLibrary& c_library, const char* name, const char* version) {
  if (the_linker.libdl != nullptr && equal(name, "dlsym")) return reinterpret_cast<void*>(&next_or_in_library);
  return c_library.find(name, version);
}

}  // namespace

bool fill_slots() {
  the_linker = dynamic_linker();
  if (!the_linker) return false;
  CLibrary c_library(the_linker);
  if (!c_library.is_supported()) return false;
  void** slot = blastoff_slots;
  for (const char* name = blastoff_imports; name != blastoff_imports_end; ++slot) {
    const char* const version = next_text(name);
    *slot = function_for_slot(c_library, name, version);
    if (*slot == nullptr) return false;
    name = next_text(version);
  }
  protect_slots();
  c_library.forget_errors();
  return true;
}

bool equal(const char* left, const char* right) {
  for (; *left != '\0' && *left == *right; ++left, ++right) {
  }
  return *left == *right;
}

bool starts_with(const char* text, const char* beginning) {
  for (; *beginning != '\0' && *text == *beginning; ++text, ++beginning) {
  }
  return *beginning == '\0';
}

const char* next_text(const char* text) {
  while (*text != '\0') ++text;
  return text + 1;
}

}  // namespace blastoff::entrance
