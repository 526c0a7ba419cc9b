// Notifies an observer of the libraries in this process, and of those that the program is about to open.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "intercept/loaded_objects.h"

namespace blastoff::intercept {

struct ObservedLibrary {
  std::string_view name;          ///< DT_SONAME or file name, without a folder
  std::string_view requested_by;  ///< the object that opens it by dlopen, likewise; "": it was found in the process
  std::span<const std::string> needed;
};
using LibraryObserver = void (*)(const ObservedLibrary& library);

/// Called once, when the library is loaded. The observer is called from any thread, within dlopen(), before any code of
/// the opened library runs.
void observe_libraries(LibraryObserver observer);

/// Whether the program's calls of dlopen() reach our hook. If this library was itself loaded by dlopen(), its names
/// come too late for that.
bool hears_of_opening();

/// Then redirects the C library's dlopen() to our hook, if it can be patched, so that libraries that are loaded later
/// are patched too.
void hear_of_opening();

/// `caller` (a return address) is about to open `file`.
void tell_of_opening(const char* file, const void* caller);

/// This object has been found in the process.
void tell_of_object(const LoadedObject& object);

}  // namespace blastoff::intercept
