// Notifies an observer of the libraries in this process, and of libraries that the program is about to open.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "intercept/loaded_objects.h"

namespace blastoff::intercept {

struct ObservedLibrary {
  std::string_view name;          ///< DT_SONAME or file name, without a folder
  std::string_view requested_by;  ///< the object that opens it by dlopen(), by the same kind of name; "": the library
                                  ///< was found in the process
  std::span<const std::string> needed;
};
using LibraryObserver = void (*)(const ObservedLibrary& library);

/// Called once, when Blastoff is loaded. `observer` may be called from any thread, within dlopen(), before any code of
/// the opened library runs.
void observe_libraries(LibraryObserver observer);

/// Whether the program's calls of dlopen() reach our hook. If Blastoff itself was loaded by dlopen(), the name dlopen
/// that it exports comes too late.
bool hears_of_opening();

/// Redirects the C library's dlopen() to our hook if hears_of_opening() is false and the function can be patched. Then
/// libraries that are loaded later are patched too.
void hear_of_opening();

/// Notifies the observer that `caller` (a return address) is about to open `file`.
void tell_of_opening(const char* file, const void* caller);

/// Notifies the observer of an object that was found in the process.
void tell_of_object(const LoadedObject& object);

}  // namespace blastoff::intercept
