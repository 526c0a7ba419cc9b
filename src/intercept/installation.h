// Which interceptors are active in this process, and which functions they reached.
#pragma once

#include <cstdint>
#include <vector>

#include "intercept/patch/patcher.h"

namespace blastoff::intercept {

/// How calls are intercepted (--intercept).
enum class Mode : std::uint8_t {
  automatic,  ///< functions are patched where possible, exported names serve the others
  patch,      ///< patched functions only
  preload,    ///< exported names only
};

/// When the library is loaded: patches what is loaded with it. Once more where that mode was `preload` and the program
/// asks for another one later.
void install(Mode mode);

/// Called instead of install() if another copy of the library is active: patches nothing and passes every call on.
void deactivate();

Mode installed_mode();

/// Patches the objects that were loaded since. For after dlopen().
void patch_new_objects();

/// Patches the objects of the linker namespace that a handle belongs to. For after dlmopen().
void patch_objects_beside(void* handle);

/// Called after each search for functions: when the library is loaded, and after dlopen().
void observe_searches(void (*observer)());

/// Every object with BLAS functions so far.
std::vector<PatchedObject> patched_objects();

/// The cost so far of searching for functions and patching them.
struct Effort {
  std::size_t objects = 0;    ///< looked at, with BLAS functions or without
  std::size_t functions = 0;  ///< found in them, patched or not
  double seconds = 0;
};
Effort patching_effort();

}  // namespace blastoff::intercept
