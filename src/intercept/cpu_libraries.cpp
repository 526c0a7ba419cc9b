#include "intercept/cpu_libraries.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "intercept/inspection.h"
#include "intercept/installation.h"
#include "intercept/loaded_objects.h"
#include "intercept/symbols/blas_functions.h"
#include "intercept/symbols/object_file.h"
#include "platform/fork_guard.h"

namespace blastoff::intercept {
namespace {

/// An object whose functions are looked up and called.
class Candidate {
 public:
  Candidate(const LoadedObject& object, const ObjectFile& file)
      : object_(object), file_(file), handle_(object.path.c_str()) {}

  /// Returns the library's function of that name. The library's builder may have added a prefix, and a suffix such as
  /// "64_". nullptr: the library has none. Hidden functions count only in the main program: its file is certainly the
  /// one that was loaded.
  template <class Function>
  Function* find(std::string_view name) const {
    void* found = nullptr;
    for (const FunctionSymbol& symbol : file_.functions_with(name)) {
      const std::string_view suffix = symbol.name.substr(symbol.name.find(name) + name.size());
      if (suffix.find_first_not_of("0123456789_") != std::string_view::npos || symbol.indirect) continue;
      if (symbol.exported)
        found = handle_.find(std::string(symbol.name).c_str());
      else if (object_.path.empty())
        found = reinterpret_cast<void*>(object_.bias + symbol.address);
      if (found != nullptr && object_.contains(found)) return reinterpret_cast<Function*>(found);
    }
    return nullptr;
  }

 private:
  const LoadedObject& object_;
  const ObjectFile& file_;
  ObjectHandle handle_;
};

/// Returns what a library's function said, if it is printable text.
std::string said(const char* text) {
  constexpr std::size_t max_length = 200;
  if (text == nullptr) return "";
  const std::string_view read(text, strnlen(text, max_length));
  const bool plain = std::ranges::all_of(read, [](unsigned char letter) { return std::isprint(letter) != 0; });
  return plain ? std::string(read) : "";
}

/// Returns "0.3.21" for "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64".
std::string second_word_if_number(const std::string& text) {
  const std::size_t begin = text.find(' ') + 1;  // npos + 1 is 0
  const std::string word = text.substr(begin, text.find(' ', begin) - begin);
  return begin > 0 && !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? word : "";
}

void ask_openblas(const Candidate& candidate, CpuLibrary& library) {
  using Text = const char*();
  if (auto* const kernels = candidate.find<Text>("openblas_get_corename")) {
    library.kernels = said(kernels());
    // OpenBLAS says this after it has been shut down at the end of the process.
    if (library.kernels == "Unknown" || library.kernels == "unknown") library.kernels.clear();
    library.name = "OpenBLAS";
  }
  if (auto* const configuration = candidate.find<Text>("openblas_get_config")) {
    const std::string text = said(configuration());
    library.version = second_word_if_number(text);
    library.has_several = text.find("DYNAMIC_ARCH") != std::string::npos;
  }
}

void ask_blis(const Candidate& candidate, CpuLibrary& library) {
  auto* const number = candidate.find<int()>("bli_arch_query_id");
  auto* const name = candidate.find<const char*(int)>("bli_arch_string");
  auto* const version = candidate.find<const char*()>("bli_info_get_version_str");
  if (number == nullptr || name == nullptr) return;
  library.name = "BLIS";
  library.kernels = said(name(number()));
  if (version != nullptr) library.version = said(version());
}

/// MKLVersion of mkl_types.h.
struct VersionOfMkl {
  int major, minor, update;
  const char* status;
  const char* build;
  const char* processor;
  const char* platform;
};

/// Only MKL's interface layer is asked. The single library (libmkl_rt) would first load its parts.
void ask_mkl(const Candidate& candidate, CpuLibrary& library) {
  auto* const version = candidate.find<void(VersionOfMkl*)>("MKL_Get_Version");
  if (version == nullptr) return;
  VersionOfMkl told{};
  version(&told);
  library.name = "MKL";
  library.version = std::to_string(told.major) + "." + std::to_string(told.minor) + "." + std::to_string(told.update);
  library.kernels = said(told.processor);
}

/// For each object, whether products of matrices were found in it.
using FoundProducts = std::map<std::string, bool>;

FoundProducts found_products() {
  FoundProducts found;
  for (const PatchedObject& object : patched_objects()) {
    const auto is_product = [](const std::string& name) { return name.find("gemm") != std::string::npos; };
    found[object.path] = std::ranges::any_of(object.patched, is_product) ||
                         std::ranges::any_of(object.refused, [&](const auto& each) { return is_product(each.name); });
  }
  return found;
}

bool is_named_like_blas(const LoadedObject& object) {
  constexpr std::array<std::string_view, 4> parts = {"blas", "libmkl_", "libblis", "atlas"};
  const std::string_view file = std::string_view(object.path).substr(object.path.find_last_of('/') + 1);
  return std::ranges::any_of(parts, [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

/// Whether a file that has not been searched before multiplies matrices. Judges its functions if `thoroughly`,
/// otherwise looks at its names only.
bool multiplies_matrices(const ObjectFile& file, const char* path, bool thoroughly) {
  if (!thoroughly) return !file.functions_with("dgemm").empty();
  return std::ranges::any_of(find_blas_functions(file, path).functions, [](const BlasFunction& function) {
    return std::string_view(function.routine.name()).ends_with("gemm");
  });
}

/// Whether a library only passes its calls on to another one.
bool only_passes_on(std::string_view library, const LoadedObject& object) {
  return library == "FlexiBLAS" || library == "libblastrampoline" || object.name.starts_with("libmkl_rt");
}

/// Returns a CpuLibrary whose name is "" if the object is no BLAS that we know, or only passes its calls on.
CpuLibrary look_at(const LoadedObject& object, const FoundProducts& products, bool thoroughly) {
  const char* const path = file_of(object);
  CpuLibrary library;
  library.path = object.path;
  const auto known = products.find(object.path);
  if (known != products.end() ? !known->second : !thoroughly && !is_named_like_blas(object)) return library;
  const auto file = ObjectFile::open(path);
  if (!file || (known == products.end() && !multiplies_matrices(*file, path, thoroughly))) return library;
  const std::string_view name = implementation_of(*file, path);
  if (name == "Blastoff" || only_passes_on(name, object)) return library;
  library.name = name;
  const Candidate candidate(object, *file);
  ask_openblas(candidate, library);
  ask_blis(candidate, library);
  ask_mkl(candidate, library);
  if (library.name == "MKL" && library.version.empty()) library.name.clear();  // only a part of MKL
  return library;
}

std::vector<CpuLibrary> look_at_all(bool thoroughly) {
  const std::vector<LoadedObject> objects = loaded_objects();
  const FoundProducts products = found_products();
  std::vector<const LoadedObject*> owners;
  std::vector<CpuLibrary> libraries;
  for (const LoadedObject& object : objects) {
    CpuLibrary library = look_at(object, products, thoroughly);
    if (library.name.empty()) continue;
    owners.push_back(&object);
    libraries.push_back(std::move(library));
  }
  const auto passes_on = [&](std::size_t each) {
    return libraries[each].kernels.empty() && std::ranges::any_of(owners, [&](const LoadedObject* other) {
             return other != owners[each] && depends_on(objects, *owners[each], other->name);
           });
  };
  std::vector<CpuLibrary> computing;
  for (std::size_t each = 0; each < libraries.size(); ++each)
    if (!passes_on(each)) computing.push_back(libraries[each]);
  return computing;
}

}  // namespace

std::vector<CpuLibrary> cpu_libraries() {
  struct Found {
    LinkerCounts counts;
    std::size_t functions = 0;
    std::vector<CpuLibrary> libraries;
  };
  static std::mutex mutex;
  static std::optional<Found>& last = *new std::optional<Found>;
  const platform::ForkGuard guard;
  const std::unique_lock lock(mutex, std::try_to_lock);  // do not wait: the process may be ending while another thread
                                                         // holds the lock
  if (!lock) return look_at_all(false);
  const LinkerCounts counts = linker_counts();
  const std::size_t functions = patching_effort().functions;
  if (!last || !(last->counts == counts) || last->functions != functions)
    last = Found{counts, functions, look_at_all(false)};
  return last->libraries;
}

std::vector<CpuLibrary> all_cpu_libraries() {
  return look_at_all(true);
}

}  // namespace blastoff::intercept
