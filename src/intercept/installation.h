// The interceptors that are active in this process, and the functions that they reached.
#pragma once

#include <cstdint>
#include <vector>

#include "intercept/patch/patcher.h"

namespace blastoff::intercept {

/// How calls are intercepted (--intercept).
enum class Mode : std::uint8_t {
  automatic,  ///< functions are patched if possible; exported names serve the others
  patch,      ///< patched functions only
  preload,    ///< exported names only
};

/// Patches what is loaded. Called when the library is loaded, and a second time if the mode was `preload` then and the
/// program asks for another mode later.
void install(Mode mode);

/// Called instead of install() if another copy of the library is active: patches nothing and passes every call on.
void deactivate();

Mode installed_mode();

/// Patches the objects that were loaded since the last search. Called after dlopen().
void patch_new_objects();

/// Patches the objects of the linker namespace to which a handle belongs. Called after dlmopen().
void patch_objects_beside(void* handle);

/// Has `observer` called after each search for functions: when the library is loaded, and after dlopen().
void observe_searches(void (*observer)());

/// Returns every object in which BLAS functions were found so far.
std::vector<PatchedObject> patched_objects();

/// The cost so far of searching for functions and patching them.
struct Effort {
  std::size_t objects = 0;    ///< objects searched, with BLAS functions or without
  std::size_t functions = 0;  ///< functions found in them, patched or not
  double seconds = 0;
};
Effort patching_effort();

}  // namespace blastoff::intercept
