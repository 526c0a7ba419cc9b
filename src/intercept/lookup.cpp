#include "intercept/lookup.h"

#include <algorithm>
#include <string>

#include "intercept/copies.h"
#include "intercept/front_ends.h"
#include "intercept/integer_width.h"
#include "intercept/loaded_objects.h"

namespace blastoff::intercept {
namespace {

bool is_ours(const void* function) {
  return same_object(function, front_ends().data());
}

void* unless_ours(void* function) {
  return function != nullptr && !is_ours(function) && !in_another_copy(function) ? function : nullptr;
}

/// The object's own definition, not one of its dependencies'.
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

}  // namespace

void* find_definition_in_reach(const char* symbol, const void* caller) {
  if (void* const next = unless_ours(next_definition(symbol))) return next;
  return unless_ours(ObjectHandle::of(caller).find(symbol));
}

void* find_definition(const char* symbol, const void* caller) {
  if (void* const found = find_definition_in_reach(symbol, caller)) return found;
  return find_beyond_the_callers_reach(symbol, caller);
}

bool is_own_routine(const EntryPoint& entry, void* function) {
  const RoutineTable& table = *entry.routine.table;
  const ObjectHandle object = ObjectHandle::of(function);
  const auto defines = [&](const std::string& name) {
    void* const found = object.find(name.c_str());
    return found != nullptr && same_object(found, function) ? found : nullptr;
  };
  if (void* const decorated = defines(std::string(entry.routine.name()) + "_")) return decorated == function;
  const auto count = static_cast<std::uint16_t>(table.names.size());
  for (std::uint16_t other = 0; other < count; ++other)
    if (table.accompanies(entry.routine.number, other) && defines(std::string(table.names[other])) == nullptr)
      return false;
  return true;
}

abi::IntegerWidth integer_width(const void* function) {
  const char* const path = path_of(function);
  return path == nullptr ? abi::IntegerWidth::lp64 : library_integer_width(path);
}

}  // namespace blastoff::intercept
