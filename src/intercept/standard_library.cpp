#include "intercept/standard_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "intercept/front_ends.h"
#include "intercept/installation.h"
#include "intercept/loaded_objects.h"
#include "intercept/loading/caller_search.h"
#include "platform/fork_guard.h"
#include "platform/log.h"
#include "platform/process.h"

namespace blastoff::intercept {
namespace {

/// Whether the program or one of its libraries was linked with Blastoff. If Blastoff is only preloaded, it took no name
/// from the linker: then the program itself lacks a library.
bool something_was_linked_with_us() {
  const std::vector<LoadedObject> objects = loaded_objects();
  const auto self = std::find_if(objects.begin(), objects.end(),
                                 [](const LoadedObject& object) { return object.contains(front_ends().data()); });
  return self != objects.end() && std::any_of(objects.begin(), objects.end(), [&](const LoadedObject& object) {
           return depends_on(objects, object, self->name);
         });
}

void* load(const char* name, const EntryPoint& entry, const void* caller) {
  const platform::ForkGuard guard;
  const std::string file = as_meant_by(caller, name, LM_ID_BASE).value_or(name);
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, entry.symbol);
  if (found == nullptr || same_object(found, front_ends().data())) {
    dlclose(handle);
    return nullptr;
  }
  if (installed_mode() != Mode::preload) patch_new_objects();
  platform::log_line(
      "%s: the program was linked with Blastoff but with no library that defines it; %s (32-bit integers) "
      "computes it. Link with the flags of pkg-config --libs blastoff",
      entry.symbol, path_of(found));
  return found;
}

}  // namespace

void* load_standard_definition(const EntryPoint& entry, const void* caller) {
  const bool suffixed = entry.convention.integers == abi::IntegerWidth::ilp64;
  if (suffixed || std::string_view(entry.prefix).starts_with("scipy_") || platform::has_elevated_rights() ||
      !something_was_linked_with_us())
    return nullptr;
  for (const char* const name : entry.routine.table->system_libraries)
    if (void* const found = load(name, entry, caller)) return found;
  return nullptr;
}

}  // namespace blastoff::intercept
