#include "intercept/lookup.h"

#include <algorithm>

#include "intercept/copies.h"
#include "intercept/evidence/judged_objects.h"
#include "intercept/front_ends.h"
#include "intercept/loaded_objects.h"

namespace blastoff::intercept {
namespace {

bool is_ours(const void* function) {
  return same_object(function, front_ends().data());
}

void* unless_ours(void* function) {
  return function != nullptr && !is_ours(function) && !in_another_copy(function) ? function : nullptr;
}

/// Returns the definition in the object itself, not one in its dependencies.
void* own_definition(const ObjectHandle& object, const LoadedObject& listed, const char* symbol) {
  void* const function = object.find(symbol);
  return listed.contains(function) ? function : nullptr;
}

void* find_beyond_the_callers_reach(const char* symbol, const void* caller) {
  const std::vector<LoadedObject> objects = loaded_objects();
  const auto calling =
      std::find_if(objects.begin(), objects.end(), [&](const LoadedObject& object) { return object.contains(caller); });
  for (const LoadedObject& object : objects) {
    if (calling == objects.end() || !depends_on(objects, object, calling->name)) continue;
    if (void* const function = unless_ours(ObjectHandle(object.path.c_str()).find(symbol))) return function;
  }
  for (const LoadedObject& object : objects) {
    void* const function = own_definition(ObjectHandle(object.path.c_str()), object, symbol);
    if (unless_ours(function) != nullptr) return function;
  }
  return nullptr;
}

/// Returns the first definition in an object that was loaded after the judged object.
void* definition_behind(const JudgedObject& judged, const char* symbol) {
  const std::vector<LoadedObject> objects = loaded_objects();
  auto object = std::find_if(objects.begin(), objects.end(),
                             [&](const LoadedObject& each) { return each.begin == judged.begin; });
  while (object != objects.end() && ++object != objects.end()) {
    void* const function = own_definition(ObjectHandle(object->path.c_str()), *object, symbol);
    if (unless_ours(function) != nullptr) return function;
  }
  return nullptr;
}

}  // namespace

void* find_definition_in_reach(const char* symbol, const void* caller) {
  if (void* const next = unless_ours(next_definition(symbol))) return next;
  return unless_ours(ObjectHandle::of(caller).find(symbol));
}

void* find_definition(const char* symbol, const void* caller) {
  if (void* const found = find_definition_in_reach(symbol, caller)) return found;
  return find_beyond_the_callers_reach(symbol, caller);
}

Original judged(const EntryPoint& entry, void* function) {
  Original original{.function = function, .convention = entry.convention, .intercepted = false};
  const JudgedObject* object = judged_object_of(function);
  const void* routine = function;
  if (object != nullptr && object->hands_on(entry.symbol)) {
    // A program that is bound to a wrapper means the function behind it.
    routine = definition_behind(*object, entry.symbol);
    object = routine == nullptr ? nullptr : judged_object_of(routine);
  }
  if (object == nullptr) return original;
  const BlasFunction* const found = object->find(entry.symbol, routine);
  if (found == nullptr || found->routine.table != entry.routine.table) return original;
  original.intercepted = true;
  original.convention.integers = found->convention.integers;
  original.to_ask = found->certain ? nullptr : object->to_ask;
  return original;
}

}  // namespace blastoff::intercept
