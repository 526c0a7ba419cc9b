#include "intercept/installation.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "intercept/copies.h"
#include "intercept/counted/counted.h"
#include "intercept/evidence/judged_objects.h"
#include "intercept/front_ends.h"
#include "intercept/loading/library_observer.h"
#include "intercept/loading/linker_changes.h"
#include "intercept/object_instances.h"
#include "intercept/patch/architecture.h"
#include "intercept/patch/patched_function.h"
#include "intercept/symbols/quick_look.h"
#include "platform/fork_guard.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

struct Installation {
  Mode mode = Mode::preload;
  std::mutex mutex;
  std::vector<InstanceNumber> seen;  ///< sorted
  std::vector<PatchedObject> objects;
  double seconds = 0;
  std::size_t objects_seen = 0;
  std::size_t functions = 0;
  void (*observer)() = nullptr;
};

/// Lasts until the process ends: exit handlers may still load objects.
Installation& installation() {
  static Installation& one = *new Installation;
  return one;
}

/// Whether the object is this library. Its exported BLAS names are not patched.
bool is_ours(const LoadedObject& object) {
  return object.contains(front_ends().data());
}

bool has_seen(InstanceNumber instance) {
  const std::lock_guard lock(installation().mutex);
  return std::ranges::binary_search(installation().seen, instance);
}

/// Returns false if the object has been noted before.
bool note_seen(Installation& all, InstanceNumber instance) {
  const auto place = std::ranges::lower_bound(all.seen, instance);
  if (place != all.seen.end() && *place == instance) return false;
  all.seen.insert(place, instance);
  return true;
}

/// Adds an outcome. If a library is loaded again and gives the same outcome, only its time is added.
void add(std::vector<PatchedObject>& objects, PatchedObject outcome) {
  const auto same = std::find_if(objects.begin(), objects.end(), [&](const PatchedObject& before) {
    return before.path == outcome.path && before.patched == outcome.patched && before.refused == outcome.refused &&
           before.left_alone == outcome.left_alone;
  });
  if (same == objects.end())
    objects.push_back(std::move(outcome));
  else
    same->seconds += outcome.seconds;
}

void look_at(const LoadedObject& object, InstanceNumber instance, Loaded loaded) {
  if (is_ours(object)) {
    const std::lock_guard lock(installation().mutex);
    note_seen(installation(), instance);
    return;
  }
  tell_of_object(object);
  const platform::Stopwatch stopwatch;
  const char* const path = file_of(object);
  std::optional<ObjectFile> file;
  if (counted::any() || may_name_routine(path))
    if (auto opened = ObjectFile::open(path)) file = std::move(*opened);
  BlasFunctions found;
  Library* to_ask = nullptr;
  if (file && file->machine() == patch::native_machine && file->may_define_blas()) {
    const JudgedObject& judged = judged_object(object, *file);
    found = patchable_functions(judged.found, *file);
    to_ask = judged.to_ask;
  }
  if (file && file->machine() == patch::native_machine) counted::add_functions(*file, found);
  if (!found.functions.empty() && is_another_copy(object)) found = {};
  Installation& all = installation();
  const std::lock_guard lock(all.mutex);
  if (!note_seen(all, instance)) return;
  ++all.objects_seen;
  all.functions += found.functions.size();
  if (found.functions.empty() && found.left_alone.empty()) {
    all.seconds += stopwatch.seconds();
    return;
  }
  PatchedObject outcome = patch_object(object, instance, loaded, *file, found, to_ask);
  outcome.seconds = stopwatch.seconds();
  all.seconds += outcome.seconds;
  add(all.objects, std::move(outcome));
}

/// Forgets unloaded objects. Their patches are gone with them.
void forget_unloaded() {
  Installation& all = installation();
  const std::lock_guard lock(all.mutex);
  const std::vector<InstanceNumber> loaded = loaded_instances();
  std::erase_if(all.seen, [&](InstanceNumber instance) {
    if (std::ranges::binary_search(loaded, instance)) return false;
    withdraw(instance);
    return true;
  });
}

/// The loaded objects that have not been searched. An object without a number is not among them: it is being loaded
/// right now, and the thread that loads it will search it.
std::vector<InstanceNumber> unsearched() {
  const std::vector<InstanceNumber> loaded = loaded_instances();
  std::vector<InstanceNumber> found;
  const std::lock_guard lock(installation().mutex);
  std::ranges::set_difference(loaded, installation().seen, std::back_inserter(found));
  return found;
}

void tell_observer() {
  if (auto* const observer = installation().observer) observer();
}

void patch_unseen(Loaded loaded) {
  platform::undisturbed([&] {
    const platform::ForkGuard guard;
    number_instances();
    forget_unloaded();
    for (const LoadedObject& object : objects_with_bias(biases_of(unsearched()))) {
      const InstanceNumber instance = instance_of(object.identity());
      if (instance == 0 || has_seen(instance)) continue;
      // Another thread may close the object while it is searched, so this handle keeps it.
      const ObjectHandle handle(object.path.c_str());
      if (handle || object.path.empty()) look_at(object, instance, loaded);
    }
    tell_observer();
  });
}

}  // namespace

void observe_searches(void (*observer)()) {
  installation().observer = observer;
}

void install(Mode mode) {
  installation().mode = mode;
  set_only_patched(mode == Mode::patch);
  if (mode == Mode::preload) {
    for (const LoadedObject& object : loaded_objects()) tell_of_object(object);
    return;
  }
  hear_of_opening();
  notice_changes();
  patch_unseen(Loaded::before);
}

void deactivate() {
  installation().mode = Mode::preload;
  set_only_patched(true);
}

Mode installed_mode() {
  return installation().mode;
}

void patch_new_objects() {
  if (installed_mode() != Mode::preload) patch_unseen(Loaded::just_now);
}

void patch_objects_beside(void* handle) {
  if (installed_mode() == Mode::preload) return;
  platform::undisturbed([&] {
    const platform::ForkGuard guard;
    const LinkerCounts before = linker_counts();
    const std::vector<LoadedObject> objects = objects_beside(handle);
    number_instances(before, objects);
    forget_unloaded();
    for (const LoadedObject& object : objects) {
      const InstanceNumber instance = instance_of(object.identity(), object.space);
      if (instance != 0 && !has_seen(instance)) look_at(object, instance, Loaded::just_now);
    }
    tell_observer();
  });
}

std::vector<PatchedObject> patched_objects() {
  const platform::ForkGuard guard;
  const std::lock_guard lock(installation().mutex);
  return installation().objects;
}

Effort patching_effort() {
  const platform::ForkGuard guard;
  const std::lock_guard lock(installation().mutex);
  return {installation().objects_seen, installation().functions, installation().seconds};
}

}  // namespace blastoff::intercept
