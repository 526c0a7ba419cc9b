#include "intercept/loading/library_observer.h"

namespace blastoff::intercept {
namespace {

constinit LibraryObserver the_observer = nullptr;

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

void observe_libraries(LibraryObserver observer) {
  the_observer = observer;
}

void tell_of_opening(const char* file, const void* caller) {
  if (the_observer == nullptr || file == nullptr) return;
  const char* const path = path_of(caller);
  the_observer({base_name(file), path != nullptr ? base_name(path) : "the program", {}});
}

void tell_of_object(const LoadedObject& object) {
  if (the_observer != nullptr) the_observer({object.name, "", object.needed});
}

}  // namespace blastoff::intercept
