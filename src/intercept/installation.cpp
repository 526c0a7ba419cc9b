#include "intercept/installation.h"

#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "intercept/copies.h"
#include "intercept/front_ends.h"
#include "intercept/loading/library_observer.h"
#include "intercept/patch/architecture.h"
#include "intercept/patch/patched_function.h"
#include "platform/fork_guard.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"

namespace blastoff::intercept {
namespace {

/// An object that has been looked at.
struct Seen {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::string path;
};

/// Finds what was seen by an identity, whose path is nobody's copy.
struct ByIdentity {
  using is_transparent = void;

  template <typename Left, typename Right>
  bool operator()(const Left& left, const Right& right) const {
    const auto key = [](const auto& object) {
      return std::tuple(object.begin, object.end, std::string_view(object.path));
    };
    return key(left) < key(right);
  }
};

struct Installation {
  Mode mode = Mode::preload;
  std::mutex mutex;
  std::set<Seen, ByIdentity> seen;
  std::vector<PatchedObject> objects;
  double seconds = 0;
  std::size_t functions = 0;
  void (*observer)() = nullptr;
};

/// Lasts until the process ends: exit handlers may still load objects.
Installation& installation() {
  static Installation& one = *new Installation;
  return one;
}

/// The BLAS names that Blastoff itself exports are not patched.
bool is_ours(const LoadedObject& object) {
  return object.contains(front_ends().data());
}

bool unseen(const ObjectIdentity& object) {
  const std::lock_guard lock(installation().mutex);
  return !installation().seen.contains(object);
}

void look_at(const LoadedObject& object) {
  tell_of_object(object);
  const platform::Stopwatch stopwatch;
  const auto file = ObjectFile::open(object.path.empty() ? "/proc/self/exe" : object.path.c_str());
  BlasFunctions found;
  if (file && file->machine() == patch::native_machine && file->may_define_blas())
    found = find_blas_functions(*file, object.path.c_str());
  if (!found.functions.empty() && is_another_copy(object)) found = {};
  // Never while holding our lock: a thread that holds the dynamic linker's lock may be waiting for it.
  if (!found.functions.empty()) keep_loaded(object);
  Installation& all = installation();
  const std::lock_guard lock(all.mutex);
  if (!all.seen.insert({object.begin, object.end, object.path}).second) return;
  const bool worth_a_word = !found.functions.empty() || !found.left_alone.empty();
  if (worth_a_word) all.objects.push_back(patch_object(object, *file, found));
  const double seconds = stopwatch.seconds();
  if (worth_a_word) all.objects.back().seconds = seconds;
  all.seconds += seconds;
  all.functions += found.functions.size();
}

void tell_observer() {
  if (auto* const observer = installation().observer) observer();
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
  }
  if (mode != Mode::preload) hear_of_opening();
  patch_new_objects();
}

void deactivate() {
  installation().mode = Mode::preload;
  set_only_patched(true);
}

Mode installed_mode() {
  return installation().mode;
}

void patch_new_objects() {
  if (installed_mode() == Mode::preload) return;
  platform::undisturbed([] {
    const platform::ForkGuard guard;
    for (const LoadedObject& object : loaded_objects(unseen)) {
      if (!is_ours(object)) look_at(object);
    }
    tell_observer();
  });
}

void patch_objects_beside(void* handle) {
  if (installed_mode() == Mode::preload) return;
  platform::undisturbed([&] {
    const platform::ForkGuard guard;
    for (const LoadedObject& object : objects_beside(handle)) {
      if (unseen({object.begin, object.end, object.path})) look_at(object);
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
  return {installation().seen.size(), installation().functions, installation().seconds};
}

}  // namespace blastoff::intercept
