#include "intercept/copies.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "../include/blastoff.h"
#include "intercept/front_ends.h"
#include "intercept/loaded_objects.h"

namespace blastoff::intercept {
namespace {

bool is_this_copy(const LoadedObject& object) {
  return object.contains(front_ends().data());
}

/// All copies, in load order. They have the same DT_SONAME, whatever their paths and file names.
std::vector<LoadedObject> copies() {
  const std::vector<LoadedObject> objects = loaded_objects();
  std::vector<LoadedObject> found;
  const auto self = std::find_if(objects.begin(), objects.end(), is_this_copy);
  if (self == objects.end() || !self->has_soname) return found;
  std::copy_if(objects.begin(), objects.end(), std::back_inserter(found),
               [&](const LoadedObject& object) { return object.has_soname && object.name == self->name; });
  return found;
}

using NextDefinition = decltype(&blastoff_next_definition);

/// Returns the function by which the copy that holds an address is asked; nullptr if no copy holds it.
NextDefinition next_definition_of_copy(const void* address) {
  if (same_object(address, front_ends().data())) return nullptr;
  void* const function = ObjectHandle::of(address).find("blastoff_next_definition");
  return function != nullptr && same_object(function, address) ? reinterpret_cast<NextDefinition>(function) : nullptr;
}

}  // namespace

bool this_copy_acts() {
  const std::vector<LoadedObject> found = copies();
  return found.empty() || is_this_copy(found.front());
}

bool is_another_copy(const LoadedObject& object) {
  if (is_this_copy(object)) return false;
  void* const function = ObjectHandle(object.path.c_str()).find("blastoff_next_definition");
  return object.contains(function);
}

bool in_another_copy(const void* address) {
  return next_definition_of_copy(address) != nullptr;
}

void* next_definition(const char* symbol) {
  void* found = dlsym(RTLD_NEXT, symbol);
  while (found != nullptr) {
    const NextDefinition next = next_definition_of_copy(found);
    void* const behind = next == nullptr ? found : next(symbol);
    if (behind == found) break;
    found = behind;
  }
  return found;
}

std::string describe_copies() {
  const std::vector<LoadedObject> found = copies();
  if (found.size() < 2) return "";
  std::string text = "Blastoff is loaded " + std::to_string(found.size()) + " times: ";
  for (const LoadedObject& copy : found) {
    if (&copy != &found.front()) text += ", ";
    text += copy.path + (&copy == &found.front() ? " is active" : " is inactive");
  }
  return text;
}

}  // namespace blastoff::intercept

extern "C" [[gnu::visibility("default")]] void* blastoff_next_definition(const char* symbol) {
  // A tail call would make the dynamic linker treat the asking copy as its caller.
  void* const volatile found = dlsym(RTLD_NEXT, symbol);
  return found;
}
