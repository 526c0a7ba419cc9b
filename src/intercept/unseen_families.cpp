#include "intercept/unseen_families.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <span>
#include <string_view>

#include "intercept/installation.h"
#include "intercept/loaded_objects.h"
#include "intercept/symbols/blas_name.h"
#include "intercept/unseen_families.def"
#include "platform/contained.h"
#include "platform/fork_guard.h"

namespace blastoff::intercept {
namespace {

struct Row {
  std::string_view family;
  std::string_view beginning;
};

constexpr Row rows[] = {
#define BLASTOFF_ROW(family, beginning) {family, beginning},
    BLASTOFF_UNSEEN_FAMILIES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};

/// Beginnings of the file names of libraries that offer such functions. They also call those of each other. SciPy's
/// wrappers of LAPACK import all of it, whatever the program calls.
constexpr std::array<std::string_view, 18> offering = {
    "_fblas",       "_flapack",    "cython_lapack", "liblapack", "libopenblas", "libscipy_openblas",
    "libflexiblas", "libblastoff", "libmkl_",       "libcublas", "libcusolver", "libcusparse",
    "libcufft",     "libcudnn",    "libnv",         "libelpa",   "libdnnl",     "libfftw3"};

bool offers_them(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return std::ranges::any_of(offering, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

bool begins_with(std::string_view name, std::string_view beginning) {
  constexpr std::string_view types = "sdcz";
  return name.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), name.begin(), [&](char wanted, char letter) {
           return wanted == '?' ? types.find(letter) != std::string_view::npos : wanted == letter;
         });
}

const Row* row_of(std::string_view name) {
  const auto* const row =
      std::ranges::find_if(rows, [&](const Row& each) { return begins_with(name, each.beginning); });
  return row == std::end(rows) ? nullptr : row;
}

/// The tables of a loaded object that say what it imports.
struct Imports {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  std::span<const ElfW(Rela)> bound_when_loaded;
  std::span<const ElfW(Rela)> bound_when_called;  ///< or when loaded, as the object or the user wants it
};

/// The C library makes addresses of the offsets in this table, unless it cannot write to it.
Imports imports_of(const ElfW(Dyn) * dynamic, std::uintptr_t bias) {
  Imports imports;
  const ElfW(Rela)* data = nullptr;
  const ElfW(Rela)* calls = nullptr;
  std::size_t data_bytes = 0;
  std::size_t call_bytes = 0;
  std::size_t relative = 0;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr < bias ? entry->d_un.d_ptr + bias : entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB: imports.symbols = reinterpret_cast<const ElfW(Sym)*>(address); break;
      case DT_STRTAB: imports.strings = reinterpret_cast<const char*>(address); break;
      case DT_RELA: data = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_RELASZ: data_bytes = entry->d_un.d_val; break;
      case DT_RELACOUNT: relative = entry->d_un.d_val; break;
      case DT_JMPREL: calls = reinterpret_cast<const ElfW(Rela)*>(address); break;
      case DT_PLTRELSZ: call_bytes = entry->d_un.d_val; break;
      default: break;
    }
  }
  if (imports.symbols == nullptr || imports.strings == nullptr) return {};
  const std::size_t count = data_bytes / sizeof(ElfW(Rela));
  // Relative relocations come first, and name no symbol.
  if (data != nullptr && relative <= count) imports.bound_when_loaded = {data + relative, count - relative};
  if (calls != nullptr) imports.bound_when_called = {calls, call_bytes / sizeof(ElfW(Rela))};
  return imports;
}

class Search {
 public:
  /// Runs under the dynamic linker's lock, so nothing here may call the linker.
  void look_at(const dl_phdr_info& listed) {
    const ObjectIdentity object = identify(listed);
    if (offers_them(object.path)) return;
    for (const ElfW(Phdr) & header : std::span(listed.dlpi_phdr, listed.dlpi_phnum)) {
      if (header.p_type != PT_DYNAMIC) continue;
      const Imports imports =
          imports_of(reinterpret_cast<const ElfW(Dyn)*>(listed.dlpi_addr + header.p_vaddr), listed.dlpi_addr);
      for (const ElfW(Rela) & each : imports.bound_when_loaded) look_at(each, imports, object, listed.dlpi_addr);
      for (const ElfW(Rela) & each : imports.bound_when_called) look_at(each, imports, object, listed.dlpi_addr);
    }
  }

  std::vector<UnseenFamily> found;

 private:
  void look_at(const ElfW(Rela) & relocation, const Imports& imports, const ObjectIdentity& object,
               std::uintptr_t bias) {
    const auto index = ELF64_R_SYM(relocation.r_info);
    if (index == 0 || imports.symbols[index].st_shndx != SHN_UNDEF) return;
    const std::string_view name = imports.strings + imports.symbols[index].st_name;
    const Row* const row = row_of(name);
    if (row == nullptr) return;
    // Until its first call, a function that is bound late leads back into the object. A weak one may be absent.
    const std::uintptr_t bound_to = *reinterpret_cast<const std::uintptr_t*>(bias + relocation.r_offset);
    if (bound_to == 0 || (object.begin <= bound_to && bound_to < object.end)) return;
    const auto known = [&](const UnseenFamily& each) {
      return each.family == row->family && each.object == object.path;
    };
    if (std::ranges::none_of(found, known))
      found.push_back({std::string(row->family), std::string(name), std::string(object.path)});
  }
};

/// Whether the function is a routine that is intercepted wherever it was found: if one has been patched, so have all
/// that can be.
bool is_patched(std::string_view function, const std::vector<PatchedObject>& objects) {
  const std::optional<BlasName> imported = parse_blas_name(function);
  const auto is_the_same = [&](const std::string& patched) {
    const std::optional<BlasName> name = parse_blas_name(patched);
    return name && name->routine == imported->routine;
  };
  return imported && std::ranges::any_of(objects, [&](const PatchedObject& object) {
           return std::ranges::any_of(object.patched, is_the_same);
         });
}

struct Listing {
  Search search;
  bool complete = true;
};

int look_at(dl_phdr_info* info, std::size_t, void* result) {
  auto& listing = *static_cast<Listing*>(result);
  if (std::string_view(info->dlpi_name).starts_with("linux-vdso")) return 0;  // its addresses are not relocated
  listing.complete = platform::contained([&] { listing.search.look_at(*info); });
  return listing.complete ? 0 : 1;
}

}  // namespace

std::vector<UnseenFamily> unseen_families() {
  const platform::ForkGuard guard;
  Listing listing;
  dl_iterate_phdr(look_at, &listing);
  if (!listing.complete) throw std::bad_alloc();
  std::vector<UnseenFamily>& found = listing.search.found;
  const std::vector<PatchedObject> objects = patched_objects();
  std::erase_if(found, [&](const UnseenFamily& each) { return is_patched(each.function, objects); });
  return std::move(found);
}

}  // namespace blastoff::intercept
