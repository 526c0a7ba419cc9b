#include "intercept/kept_objects.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "intercept/loaded_objects.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

struct Kept {
  InstanceNumber calling;
  InstanceNumber defining;
  void* handle;  ///< nullptr: the linker keeps the object by itself
  LoadedObject caller;
};

struct KeptObjects {
  std::mutex mutex;
  std::vector<Kept> objects;
};

KeptObjects& kept() {
  static KeptObjects& one = *new KeptObjects;
  return one;
}

Kept keep(const void* caller, InstanceNumber calling, const void* function, InstanceNumber defining) {
  const std::vector<LoadedObject> objects = loaded_objects();
  const auto holding = [&](const void* address) {
    return std::ranges::find_if(objects, [&](const LoadedObject& each) { return each.contains(address); });
  };
  const auto from = holding(caller);
  const auto to = holding(function);
  Kept kept{calling, defining, nullptr, {}};
  if (from == objects.end() || to == objects.end()) return kept;
  kept.caller = *from;
  if (!depends_on(objects, *from, to->name)) kept.handle = dlopen(to->path.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  return kept;
}

}  // namespace

void keep_while_loaded(const void* caller, InstanceNumber calling, const void* function, InstanceNumber defining) {
  if (calling == defining) return;
  KeptObjects& all = kept();
  const auto known = [&] {
    const std::lock_guard lock(all.mutex);
    return std::ranges::any_of(all.objects,
                               [&](const Kept& each) { return each.calling == calling && each.defining == defining; });
  };
  if (known()) return;
  Kept needed = keep(caller, calling, function, defining);
  const std::lock_guard lock(all.mutex);
  all.objects.push_back(std::move(needed));
}

void release_unused_objects() {
  std::vector<void*> unused;
  platform::undisturbed([&] {
    const platform::ErrnoGuard errno_stays;
    const platform::ForkGuard guard;
    KeptObjects& all = kept();
    const std::lock_guard lock(all.mutex);
    if (all.objects.empty()) return;
    number_instances();
    std::erase_if(all.objects, [&](const Kept& each) {
      // The instance number alone does not prove that the caller is gone: the order of loading may have been ambiguous.
      const bool calls = instance_of(each.caller.identity()) != 0;
      if (calls && (each.handle != nullptr || is_loaded(each.defining))) return false;
      if (each.handle != nullptr) unused.push_back(each.handle);
      return true;
    });
  });
  for (void* const handle : unused) dlclose(handle);
}

}  // namespace blastoff::intercept
