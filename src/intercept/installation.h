// Which interceptors are at work in this process, and what they reached.
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

/// Once, when the library is loaded: patches what is loaded with it.
void install(Mode mode);

/// Instead of install(), where another copy of the library acts: nothing is patched, every call is handed on.
void deactivate();

Mode installed_mode();

/// Patches the objects that were loaded since. For after dlopen().
void patch_new_objects();

/// Patches the objects of the linker namespace that a handle belongs to. For after dlmopen().
void patch_objects_beside(void* handle);

/// Every object with BLAS functions so far.
std::vector<PatchedObject> patched_objects();

/// What looking for functions and patching them has taken so far.
struct Effort {
  std::size_t objects = 0;  ///< looked at, with BLAS functions or without
  double seconds = 0;
};
Effort patching_effort();

}  // namespace blastoff::intercept
